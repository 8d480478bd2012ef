#include "model/safetensors_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/allocation_probe.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMaxAllocation = std::size_t{4} << 20;

Result<SafetensorsFile> open_bytes(const TempFolder& folder, const std::string& bytes) {
  write_file(folder / "model.safetensors", bytes);
  return SafetensorsFile::open(folder / "model.safetensors");
}

void expect_refused(const std::string& bytes, const std::string& message) {
  const TempFolder folder;
  const AllocationProbe probe;

  const Result<SafetensorsFile> file = open_bytes(folder, bytes);

  EXPECT_LT(probe.largest(), kMaxAllocation);
  ASSERT_FALSE(file) << "expected: " << message;
  EXPECT_EQ(file.error().code, ErrorCode::kBadFile);
  EXPECT_THAT(file.error().message, HasSubstr(message));
  EXPECT_THAT(file.error().message, HasSubstr("model.safetensors"));
}

std::string small_file() {
  SafetensorsWriter writer;
  writer.add({"a", "F32", {2, 3}, std::string(24, 'x')});
  writer.add({"b", "BF16", {4}, std::string(8, 'y')});
  return writer.bytes();
}

/// A file with one tensor `t` of these header fields and 16 bytes of data.
std::string with_entry(const std::string& fields) {
  return SafetensorsWriter::with_header(R"({"__metadata__":{"format":"pt"},"t":{)" + fields + "}}",
                                        std::string(16, '\0'));
}

TEST(SafetensorsFileTest, ReadsTensors) {
  const TempFolder folder;

  const Result<SafetensorsFile> file = open_bytes(folder, small_file());

  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tensors.size(), 2U);
  EXPECT_EQ(file->tensors.at("a").shape, (TensorSource::Shape{2, 3}));
  EXPECT_EQ(file->tensors.at("b").shape, (TensorSource::Shape{1, 4}));
  EXPECT_EQ(file->tensors.at("b").type, TensorType::kBF16);
  EXPECT_EQ(static_cast<char>(file->tensors.at("b").bytes[0]), 'y');
}

// M01
TEST(SafetensorsFileTest, NoPrefixOfAFileIsAccepted) {
  const std::string whole = small_file();
  const TempFolder folder;

  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(open_bytes(folder, whole.substr(0, size))) << size;
  }
}

// M14
TEST(SafetensorsFileTest, LyingHeaderLengthIsRefused) {
  const std::string good = small_file();
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{good.size()}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    SCOPED_TRACE(length);
    expect_refused(GgufWriter::raw_bytes(length) + good.substr(8),
                   "the header claims " + std::to_string(length) + " bytes");
  }
  expect_refused(GgufWriter::raw_bytes(std::uint64_t{7}) + good.substr(8), "not a JSON object");
}

TEST(SafetensorsFileTest, HeaderThatIsNoObjectIsRefused) {
  for (const char* header : {"hello world", "[1,2]", "{\"a\":\xff\xfe}", "{\"a\":1} x", "17"}) {
    SCOPED_TRACE(header);
    expect_refused(SafetensorsWriter::with_header(header, "data"), "not a JSON object");
  }
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  expect_refused(SafetensorsWriter::with_header("{\"a\":" + deep + "}", "data"),
                 "not a JSON object");
}

TEST(SafetensorsFileTest, BadEntriesAreRefusedByName) {
  struct Case {
    std::string fields;
    std::string message;
  };
  const std::vector<Case> cases = {
      {R"("dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4])",
       "tensor 't' has the unsupported dtype 'F8_E4M3'; supported: F32, F16, BF16"},
      {R"("dtype":7,"shape":[4],"data_offsets":[0,16])", "has no string 'dtype'"},
      {R"("shape":[4],"data_offsets":[0,16])", "has no string 'dtype'"},
      {R"("dtype":"F32","data_offsets":[0,16])", "has no array 'shape'"},
      {R"("dtype":"F32","shape":[5],"data_offsets":[0,16])",
       "tensor 't' has 16 bytes, expected 20 for F32 [1, 5]"},
      {R"("dtype":"F16","shape":[4],"data_offsets":[0,16])", "has 16 bytes, expected 8"},
      {R"("dtype":"F32","shape":[0],"data_offsets":[0,0])", "has a dimension"},
      {R"("dtype":"F32","shape":[-4],"data_offsets":[0,16])", "has a dimension"},
      {R"("dtype":"F32","shape":[4.0],"data_offsets":[0,16])", "has a dimension"},
      {R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,16])", "has a dimension"},
      {R"("dtype":"F32","shape":[1,1,1,1,4],"data_offsets":[0,16])", "has 5 dimensions"},
      {R"("dtype":"F32","shape":[4],"data_offsets":[0,17])", "lies at bytes 0 to 17"},
      {R"("dtype":"F32","shape":[4],"data_offsets":[16,0])", "lies at bytes 16 to 0"},
      {R"("dtype":"F32","shape":[4],"data_offsets":[18446744073709551600,18446744073709551615])",
       "lies at bytes 18446744073709551600"},
      {R"("dtype":"F32","shape":[4],"data_offsets":[-16,0])", "no 'data_offsets'"},
      {R"("dtype":"F32","shape":[4],"data_offsets":[0])", "no 'data_offsets'"},
      {R"("dtype":"F32","shape":[4])", "no 'data_offsets'"},
      {R"("dtype":"F32","shape":[4],"data_offsets":[0,16]},"t":{"dtype":"F32","shape":[4],"data_offsets":[0,16])",
       "tensor 't' is stored twice"},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.fields);
    expect_refused(with_entry(bad.fields), bad.message);
  }
  expect_refused(SafetensorsWriter::with_header(R"({"t":[1]})", "data"), "has no string 'dtype'");
}

TEST(SafetensorsIndexTest, FileNamesMayNotLeaveTheFolder) {
  for (const char* name : {"../model.safetensors", "/etc/passwd", "a/b", "", "."}) {
    const auto files = parse_safetensors_index(
        std::string(R"({"weight_map":{"a":")") + name + R"("}})", "index.json");

    ASSERT_FALSE(files) << name;
    EXPECT_THAT(files.error().message, HasSubstr("expected the name of a file in the folder"));
  }
}

TEST(SafetensorsIndexTest, BadIndexIsRefused) {
  for (const char* text : {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})",
                           R"({"weight_map":{"a":1}})", R"({"weight_map":{"a":"x","a":"y"}})"}) {
    EXPECT_FALSE(parse_safetensors_index(text, "index.json")) << text;
  }
}

}  // namespace
}  // namespace paceline
