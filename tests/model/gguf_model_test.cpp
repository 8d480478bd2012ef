#include "model/gguf_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"
#include "tests/support/tiny_model.h"

namespace paceline {
namespace {

using testing::HasSubstr;

std::vector<float> read_all(const TensorSource& tensors, std::string_view name) {
  const TensorSource::Shape shape = tensors.shape(name).value();
  std::vector<float> values(static_cast<std::size_t>(shape.rows * shape.columns));
  EXPECT_TRUE(tensors.read_rows(name, 0, shape.rows, values));
  return values;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(GgufModelTest, TensorsHaveTheWrittenValues) {
  const TempFolder folder;
  const TinyModel tiny = make_tiny_model();
  tiny.write_gguf(folder / "tiny.gguf");

  const Result<GgufModel> model = open_gguf_model(folder / "tiny.gguf");

  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->tensors->names().size(), tiny.tensors().size());
  for (const TinyModel::Tensor& tensor : tiny.tensors()) {
    EXPECT_EQ(model->tensors->shape(tensor.name).value(),
              (TensorSource::Shape{tensor.rows, tensor.columns}));
    EXPECT_EQ(read_all(*model->tensors, tensor.name), tensor.values) << tensor.name;
  }
}

// M12
TEST(GgufModelTest, SplitModelEqualsTheWhole) {
  const TempFolder folder;
  const TinyModel tiny = make_tiny_model();
  const auto paths = tiny.write_split_gguf(folder / "tiny");

  const Result<GgufModel> model = open_gguf_model(paths[0]);

  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->metadata.find_string("general.name").value(), "Tiny");
  ASSERT_EQ(model->tensors->names().size(), tiny.tensors().size());
  for (const TinyModel::Tensor& tensor : tiny.tensors()) {
    EXPECT_EQ(read_all(*model->tensors, tensor.name), tensor.values) << tensor.name;
  }
}

TEST(GgufModelTest, MissingPartIsNamed) {
  const TempFolder folder;
  const auto paths = make_tiny_model().write_split_gguf(folder / "tiny");
  std::filesystem::remove(paths[1]);

  const Result<GgufModel> model = open_gguf_model(paths[0]);

  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr(paths[1].string() + ": cannot open"));
  EXPECT_THAT(model.error().message, HasSubstr("part 2 of 2"));
}

TEST(GgufModelTest, LaterPartGivenFirstIsRefused) {
  const TempFolder folder;
  const auto paths = make_tiny_model().write_split_gguf(folder / "tiny");

  const Result<GgufModel> model = open_gguf_model(paths[1]);

  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("part 2 of 2 of a split model, give the first"));
}

TEST(GgufModelTest, JoinedPartsAreRefused) {
  const TempFolder folder;
  const auto paths = make_tiny_model().write_split_gguf(folder / "tiny");
  write_file(folder / "joined.gguf", read_file(paths[0]) + read_file(paths[1]));

  const Result<GgufModel> model = open_gguf_model(folder / "joined.gguf");

  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("name must end with '-00001-of-00002.gguf'"));
}

TEST(GgufModelTest, PartsThatDoNotBelongTogetherAreRefused) {
  const TempFolder folder;
  const auto paths = make_tiny_model().write_split_gguf(folder / "tiny");

  std::filesystem::copy_file(paths[0], paths[1], std::filesystem::copy_options::overwrite_existing);
  const Result<GgufModel> twice_the_first = open_gguf_model(paths[0]);

  GgufWriter empty;
  empty.set("split.no", std::uint16_t{1});
  empty.set("split.count", std::uint16_t{2});
  empty.write(paths[1]);
  const Result<GgufModel> too_few_tensors = open_gguf_model(paths[0]);

  ASSERT_FALSE(twice_the_first);
  EXPECT_THAT(twice_the_first.error().message,
              HasSubstr("expected part 2 of 2, found part 1 of 2"));
  ASSERT_FALSE(too_few_tensors);
  EXPECT_THAT(too_few_tensors.error().message, HasSubstr("key 'split.tensors.count': expected"));
}

TEST(GgufModelTest, TensorStoredInTwoPartsIsRefused) {
  const TempFolder folder;
  const auto paths = make_tiny_model().write_split_gguf(folder / "tiny");
  GgufWriter second;
  second.set("split.no", std::uint16_t{1});
  second.set("split.count", std::uint16_t{2});
  second.add_tensor({"token_embd.weight", {8}, 0, std::string(32, '\0')});
  second.write(paths[1]);

  const Result<GgufModel> model = open_gguf_model(paths[0]);

  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message,
              HasSubstr("tensor 'token_embd.weight' is also stored in another part"));
}

TEST(GgufModelTest, PartCountBeyondTheLimitIsRefused) {
  const TempFolder folder;
  GgufWriter writer = make_tiny_model().gguf();
  writer.set("split.count", std::uint64_t{1} << 40);
  writer.write(folder / "tiny.gguf");

  const Result<GgufModel> model = open_gguf_model(folder / "tiny.gguf");

  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("key 'split.count': expected at most 1024"));
}

TEST(GgufModelTest, RowsOutsideATensorAreRefused) {
  const TempFolder folder;
  make_tiny_model().write_gguf(folder / "tiny.gguf");
  const Result<GgufModel> model = open_gguf_model(folder / "tiny.gguf");
  ASSERT_TRUE(model) << model.error().message;
  std::vector<float> out(64);

  for (const auto& [first, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {-1, 1}, {64, 1}, {63, 2}, {0, -1}, {INT64_MAX, 1}, {1, INT64_MAX}}) {
    const Result<void> read = model->tensors->read_rows("blk.0.attn_q.weight", first, count, out);

    EXPECT_FALSE(read) << first << " " << count;
  }
  EXPECT_FALSE(model->tensors->read_rows("absent", 0, 1, out));
  EXPECT_TRUE(model->tensors->read_rows("blk.0.attn_q.weight", 63, 1, out));
}

TEST(GgufModelTest, FingerprintFollowsContents) {
  const TempFolder folder;
  const auto fingerprint = [&](const TinyModel& tiny, const char* name) {
    tiny.write_gguf(folder / name);
    // Equal times, so that only the contents can make a difference.
    std::filesystem::last_write_time(folder / name, {});
    return open_gguf_model(folder / name).value().tensors->fingerprint();
  };

  const std::string original = fingerprint(make_tiny_model(), "a.gguf");
  const std::string copy = fingerprint(make_tiny_model(), "b.gguf");
  const std::string other = fingerprint(make_tiny_model({.seed = 2}), "c.gguf");
  std::filesystem::last_write_time(folder / "b.gguf",
                                   std::filesystem::file_time_type{} + std::chrono::seconds(1));
  const std::string touched = open_gguf_model(folder / "b.gguf").value().tensors->fingerprint();

  EXPECT_EQ(original, copy);
  EXPECT_NE(original, other);
  EXPECT_NE(original, touched);
}

}  // namespace
}  // namespace paceline
