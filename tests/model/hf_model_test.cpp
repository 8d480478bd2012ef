#include "model/hf_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "model/hf_config.h"
#include "model/open_model_source.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_model.h"

namespace paceline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A config.json of the tiny shape with one field replaced, added or (empty value) left out.
std::string config_with(const std::string& key, const std::string& value) {
  const std::vector<std::pair<std::string, std::string>> fields = {
      {"model_type", "\"qwen2\""},
      {"num_hidden_layers", "2"},
      {"hidden_size", "64"},
      {"num_attention_heads", "4"},
      {"num_key_value_heads", "2"},
      {"intermediate_size", "128"},
      {"max_position_embeddings", "4096"},
      {"vocab_size", "272"},
      {"rms_norm_eps", "1e-06"},
      {"rope_theta", "1000000.0"},
  };
  std::string text = "{\"other\":1";
  for (const auto& [name, number] : fields) {
    if (name != key) text += ",\"" + name + "\":" + number;
  }
  if (!value.empty()) text += ",\"" + key + "\":" + value;
  return text + "}";
}

Result<HfConfig> parse_with(const std::string& key, const std::string& value) {
  std::vector<std::string> warnings;
  return parse_hf_config(config_with(key, value), "config.json", warnings);
}

void expect_config_refused(const std::string& key, const std::string& value,
                           const std::string& message) {
  const Result<HfConfig> config = parse_with(key, value);

  ASSERT_FALSE(config) << key << " = " << value;
  EXPECT_THAT(config.error().message, HasSubstr("config.json: key '" + key + "'"));
  EXPECT_THAT(config.error().message, HasSubstr(message));
}

std::vector<float> read_all(const TensorSource& tensors, std::string_view name) {
  const TensorSource::Shape shape = tensors.shape(name).value();
  std::vector<float> values(static_cast<std::size_t>(shape.rows * shape.columns));
  EXPECT_TRUE(tensors.read_rows(name, 0, shape.rows, values));
  return values;
}

void replace_in_file(const std::filesystem::path& path, const std::string& from,
                     const std::string& to) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  write_file(path, text.replace(at, from.size(), to));
}

TEST(HfModelTest, FolderEqualsTheGguf) {
  const TempFolder folder;
  const TinyModel tiny = make_tiny_model();
  tiny.write_hf_folder(folder.path());
  tiny.write_gguf(folder / "tiny.gguf");

  const Result<ModelSource> hf = open_model_source(folder.path());
  const Result<ModelSource> gguf = open_model_source(folder / "tiny.gguf");

  ASSERT_TRUE(hf) << hf.error().message;
  ASSERT_TRUE(gguf) << gguf.error().message;
  EXPECT_EQ(hf->config.n_layers, gguf->config.n_layers);
  EXPECT_EQ(hf->config.head_dim, gguf->config.head_dim);
  EXPECT_EQ(hf->config.vocab_rows, gguf->config.vocab_rows);
  EXPECT_EQ(hf->config.rope_theta, gguf->config.rope_theta);
  EXPECT_EQ(hf->config.rms_eps, gguf->config.rms_eps);
  EXPECT_EQ(hf->tokenizer.end_ids, gguf->tokenizer.end_ids);
  EXPECT_EQ(hf->tokenizer.tokenizer_json, folder / "tokenizer.json");
  ASSERT_EQ(hf->tensors->names(), gguf->tensors->names());
  for (const std::string_view name : gguf->tensors->names()) {
    EXPECT_EQ(hf->tensors->shape(name).value(), gguf->tensors->shape(name).value());
    EXPECT_EQ(read_all(*hf->tensors, name), read_all(*gguf->tensors, name)) << name;
  }
}

TEST(HfModelTest, ShardedFolderEqualsTheWhole) {
  const TempFolder folder;
  const TinyModel tiny = make_tiny_model();
  tiny.write_hf_folder(folder.path());
  std::filesystem::remove(folder / "model.safetensors");
  SafetensorsWriter parts[2];
  std::string weight_map;
  std::size_t index = 0;
  const GgufWriter stored = tiny.gguf();
  for (const GgufWriter::Tensor& tensor : stored.tensors()) {
    const std::string name = hf_tensor_name(tensor.name);
    const bool is_half = tensor.type == static_cast<std::uint32_t>(TensorType::kF16);
    const std::size_t part = index++ % 2;
    parts[part].add({name,
                     is_half ? "F16" : "F32",
                     {tensor.dimensions.rbegin(), tensor.dimensions.rend()},
                     tensor.bytes});
    weight_map += (weight_map.empty() ? "\"" : ",\"") + name + "\":\"part" + std::to_string(part) +
                  ".safetensors\"";
  }
  parts[0].write(folder / "part0.safetensors");
  parts[1].write(folder / "part1.safetensors");
  write_file(folder / "model.safetensors.index.json", "{\"weight_map\":{" + weight_map + "}}");

  const Result<ModelSource> source = open_model_source(folder.path());

  ASSERT_TRUE(source) << source.error().message;
  for (const TinyModel::Tensor& tensor : tiny.tensors()) {
    EXPECT_EQ(read_all(*source->tensors, tensor.name), tensor.values) << tensor.name;
  }

  std::filesystem::remove(folder / "part1.safetensors");
  const Result<ModelSource> incomplete = open_model_source(folder.path());
  ASSERT_FALSE(incomplete);
  EXPECT_THAT(incomplete.error().message, HasSubstr("part1.safetensors: cannot open"));
}

// M07
TEST(HfModelTest, TieDecidesAboutTheHead) {
  const TinyModel untied = make_tiny_model({.tied_embeddings = false});
  const TempFolder folder;
  untied.write_hf_folder(folder.path());

  const Result<ModelSource> with_head = open_model_source(folder.path());
  replace_in_file(folder / "config.json", "\"tie_word_embeddings\":false",
                  "\"tie_word_embeddings\":true");
  const Result<ModelSource> head_ignored = open_model_source(folder.path());

  ASSERT_TRUE(with_head) << with_head.error().message;
  EXPECT_FALSE(with_head->config.tied_embeddings);
  EXPECT_TRUE(with_head->tensors->has("output.weight"));
  ASSERT_TRUE(head_ignored) << head_ignored.error().message;
  EXPECT_TRUE(head_ignored->config.tied_embeddings);
  EXPECT_FALSE(head_ignored->tensors->has("output.weight"));
}

TEST(HfModelTest, UntiedWithoutHeadIsRefused) {
  const TempFolder folder;
  make_tiny_model().write_hf_folder(folder.path());
  replace_in_file(folder / "config.json", "\"tie_word_embeddings\":true",
                  "\"tie_word_embeddings\":false");

  const Result<ModelSource> source = open_model_source(folder.path());

  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("tensor 'output.weight' is missing"));
}

// M10: generation_config.json as a list and as a number; config.json when it says nothing.
TEST(HfModelTest, EndIdsAreANumberOrAList) {
  EXPECT_THAT(parse_hf_end_ids(R"({"eos_token_id":[151645,151643,151645]})", "f").value(),
              ElementsAre(151645, 151643));
  EXPECT_THAT(parse_hf_end_ids(R"({"eos_token_id":151645})", "f").value(), ElementsAre(151645));
  EXPECT_THAT(parse_hf_end_ids(R"({"eos_token_id":null})", "f").value(), IsEmpty());
  EXPECT_THAT(parse_hf_end_ids("{}", "f").value(), IsEmpty());
  for (const char* bad : {"\"151645\"", "-1", "1.5", "[1,\"2\"]", "[[1]]", "99999999999", "true"}) {
    EXPECT_FALSE(parse_hf_end_ids(std::string("{\"eos_token_id\":") + bad + "}", "f")) << bad;
  }
  EXPECT_THAT(parse_with("eos_token_id", "[1,2]").value().end_ids, ElementsAre(1, 2));
}

TEST(HfModelTest, ConfigFillsInForAMissingGenerationConfig) {
  const TempFolder folder;
  make_tiny_model().write_hf_folder(folder.path());
  std::filesystem::remove(folder / "generation_config.json");

  const Result<ModelSource> nothing = open_model_source(folder.path());
  replace_in_file(folder / "config.json", "{", "{\"eos_token_id\":263,");
  const Result<ModelSource> from_config = open_model_source(folder.path());

  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_THAT(nothing->warnings, Contains(HasSubstr("no 'eos_token_id'")));
  ASSERT_TRUE(from_config) << from_config.error().message;
  EXPECT_THAT(from_config->tokenizer.end_ids, ElementsAre(263));
}

TEST(HfModelTest, ChatTemplateIsATextAListOrAFile) {
  EXPECT_EQ(parse_hf_chat_template(R"({"chat_template":"x"})", "f").value(), "x");
  EXPECT_EQ(parse_hf_chat_template("{}", "f").value(), "");
  EXPECT_EQ(
      parse_hf_chat_template(
          R"({"chat_template":[{"name":"tool","template":"t"},{"name":"default","template":"d"}]})",
          "f")
          .value(),
      "d");
  EXPECT_FALSE(parse_hf_chat_template(R"({"chat_template":[]})", "f"));
  EXPECT_FALSE(parse_hf_chat_template(R"({"chat_template":7})", "f"));

  const TempFolder folder;
  make_tiny_model().write_hf_folder(folder.path());
  write_file(folder / "chat_template.jinja", "from the file");
  const Result<ModelSource> source = open_model_source(folder.path());
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->tokenizer.chat_template, "from the file");
}

TEST(HfModelTest, MissingFilesAreNamed) {
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    const TempFolder folder;
    make_tiny_model().write_hf_folder(folder.path());
    std::filesystem::remove(folder / name);

    const Result<ModelSource> source = open_model_source(folder.path());

    ASSERT_FALSE(source) << name;
    EXPECT_THAT(source.error().message, HasSubstr(name));
  }
}

// M05 for config.json
TEST(HfConfigTest, BadHyperParametersAreRefusedByName) {
  for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads",
                          "num_key_value_heads", "intermediate_size", "max_position_embeddings"}) {
    expect_config_refused(key, "0", "expected 1 to");
    expect_config_refused(key, "4294967295", "found 4294967295");
    expect_config_refused(key, "", "is missing");
    expect_config_refused(key, "\"2\"", "expected an integer, found a string");
    expect_config_refused(key, "[2]", "expected an integer, found an array");
    expect_config_refused(key, "2.5", "expected an integer, found a fraction");
  }
  expect_config_refused("vocab_size", "", "expected 1 to");
  expect_config_refused("vocab_size", "99999999", "expected 1 to");
  expect_config_refused("num_key_value_heads", "3", "expected a divisor of 4");
  expect_config_refused("hidden_size", "66", "expected an even multiple of 4");
  expect_config_refused("head_dim", "32", "expected 16");
  expect_config_refused("rms_norm_eps", "0", "expected");
  expect_config_refused("rms_norm_eps", "-1e-6", "expected");
  expect_config_refused("rope_theta", "0", "expected");
  expect_config_refused("rope_theta", "\"x\"", "expected a number");
}

TEST(HfConfigTest, OtherArchitecturesAndFeaturesAreRefused) {
  expect_config_refused("model_type", "\"llama\"", "'llama' is not supported; supported: 'qwen2'");
  expect_config_refused("model_type", "", "is missing or empty; supported: 'qwen2'");
  expect_config_refused("use_sliding_window", "true", "sliding-window attention");
  expect_config_refused("hidden_act", "\"gelu\"", "expected 'silu'");
  expect_config_refused("rope_scaling", R"({"type":"yarn","factor":4.0})",
                        "RoPE scaling 'yarn' is not supported");
  expect_config_refused("rope_scaling", R"({"factor":4.0})", "RoPE scaling '' is not supported");
  expect_config_refused("quantization_config", R"({"quant_method":"awq"})", "not supported");
}

TEST(HfConfigTest, AcceptsTheFormsOfRopeThatChangeNothing) {
  EXPECT_TRUE(parse_with("rope_scaling", "null"));
  EXPECT_TRUE(parse_with("rope_scaling", R"({"rope_type":"default"})"));
  const Result<HfConfig> config =
      parse_with("rope_parameters", R"({"rope_type":"default","rope_theta":5000})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->config.rope_theta, 5000.0F);
}

TEST(HfConfigTest, MissingRopeBaseIsAWarning) {
  std::vector<std::string> warnings;

  const auto config = parse_hf_config(config_with("rope_theta", ""), "config.json", warnings);

  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->config.rope_theta, 1e6F);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("key 'rope_theta' is missing, 1e+06 is used")));
}

TEST(HfConfigTest, TextThatIsNoObjectIsRefused) {
  std::vector<std::string> warnings;
  for (const char* text : {"", "[]", "{", "nonsense", "{\"hidden_size\":NaN}"}) {
    EXPECT_FALSE(parse_hf_config(text, "config.json", warnings)) << text;
  }
}

TEST(HfTensorNameTest, KnownNamesMapAndOthersDoNot) {
  EXPECT_EQ(gguf_tensor_name("model.layers.11.self_attn.k_proj.bias"), "blk.11.attn_k.bias");
  EXPECT_EQ(gguf_tensor_name("model.layers.0.mlp.down_proj.weight"), "blk.0.ffn_down.weight");
  EXPECT_EQ(gguf_tensor_name("lm_head.weight"), "output.weight");
  for (const char* name : {"", "model.layers.", "model.layers.0", "model.layers.0.self_attn.rotary",
                           "visual.blocks.0.attn.weight"}) {
    EXPECT_EQ(gguf_tensor_name(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace paceline
