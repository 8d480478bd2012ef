// Gives the input to every parser of the small JSON files of a Hugging Face folder.

#include <string_view>
#include <vector>

#include "model/hf_config.h"
#include "model/safetensors_file.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> warnings;
  (void)paceline::parse_hf_config(text, "input", warnings);
  (void)paceline::parse_hf_end_ids(text, "input");
  (void)paceline::parse_hf_chat_template(text, "input");
  (void)paceline::parse_safetensors_index(text, "input");
  return 0;
}

std::vector<std::string> paceline::fuzz_seeds() {
  return {
      R"({"model_type":"qwen2","num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,)"
      R"("num_key_value_heads":2,"intermediate_size":128,"max_position_embeddings":4096,)"
      R"("vocab_size":272,"rms_norm_eps":1e-06,"rope_theta":1000000.0,"eos_token_id":[1,2],)"
      R"("rope_scaling":{"type":"default"},"tie_word_embeddings":true})",
      R"({"eos_token_id":151645})",
      R"({"chat_template":[{"name":"default","template":"x"}]})",
      R"({"weight_map":{"a":"model-00001-of-00002.safetensors"}})",
  };
}
