#include "model/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/allocation_probe.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_model.h"

namespace paceline {
namespace {

using testing::HasSubstr;

/// No test file here is larger than 1 MB, so no reader may ask for more at once.
constexpr std::size_t kMaxAllocation = std::size_t{4} << 20;

/// Offsets within a file of the writer: magic 0, version 4, tensors 8, keys 16, first key 24.
constexpr std::size_t kVersionOffset = 4;
constexpr std::size_t kNumTensorsOffset = 8;
constexpr std::size_t kNumKeysOffset = 16;
constexpr std::size_t kFirstKeyOffset = 24;

template <typename T>
void patch(std::string& bytes, std::size_t offset, T value) {
  ASSERT_LE(offset + sizeof value, bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

Result<GgufFile> open_bytes(const TempFolder& folder, const std::string& bytes) {
  write_file(folder / "model.gguf", bytes);
  return GgufFile::open(folder / "model.gguf");
}

/// A file with one key `k` of this type and these value bytes.
std::string with_value(std::uint32_t type, std::string value) {
  GgufWriter writer;
  writer.set_raw("k", type, std::move(value));
  return writer.bytes();
}

/// A file with one tensor `t`.
std::string with_tensor(std::vector<std::uint64_t> dimensions, std::uint32_t type,
                        std::string data) {
  GgufWriter writer;
  writer.add_tensor({"t", std::move(dimensions), type, std::move(data)});
  return writer.bytes();
}

void expect_refused(const std::string& bytes, const std::string& message) {
  const TempFolder folder;
  const AllocationProbe probe;

  const Result<GgufFile> file = open_bytes(folder, bytes);

  EXPECT_LT(probe.largest(), kMaxAllocation);
  ASSERT_FALSE(file) << "expected: " << message;
  EXPECT_EQ(file.error().code, ErrorCode::kBadFile);
  EXPECT_THAT(file.error().message, HasSubstr(message));
  EXPECT_THAT(file.error().message, HasSubstr("model.gguf"));
  EXPECT_EQ(file.error().message.find('\n'), std::string::npos);
}

TEST(GgufFileTest, ReadsMetadataOfEveryType) {
  GgufWriter writer;
  writer.set("u8", std::uint8_t{200});
  writer.set("i8", std::int8_t{-3});
  writer.set("u16", std::uint16_t{60000});
  writer.set("i16", std::int16_t{-300});
  writer.set("u32", std::uint32_t{4000000000});
  writer.set("i32", std::int32_t{-70000});
  writer.set("u64", std::uint64_t{1} << 40);
  writer.set("i64", -(std::int64_t{1} << 40));
  writer.set("f32", 0.5F);
  writer.set("f64", 0.25);
  writer.set("bool", true);
  writer.set_string("text", "hello");
  writer.set_strings("texts", {"a", "", "bc"});
  writer.set_int32s("ids", {1, -2});
  const TempFolder folder;

  const Result<GgufFile> file = open_bytes(folder, writer.bytes());

  ASSERT_TRUE(file) << file.error().message;
  const GgufMetadata& metadata = file->metadata;
  EXPECT_EQ(metadata.find_integer("u8").value(), 200);
  EXPECT_EQ(metadata.find_integer("i8").value(), -3);
  EXPECT_EQ(metadata.find_integer("u16").value(), 60000);
  EXPECT_EQ(metadata.find_integer("i16").value(), -300);
  EXPECT_EQ(metadata.find_integer("u32").value(), 4000000000);
  EXPECT_EQ(metadata.find_integer("i32").value(), -70000);
  EXPECT_EQ(metadata.find_integer("u64").value(), std::int64_t{1} << 40);
  EXPECT_EQ(metadata.find_integer("i64").value(), -(std::int64_t{1} << 40));
  EXPECT_EQ(metadata.find_number("f32").value(), 0.5);
  EXPECT_EQ(metadata.find_number("f64").value(), 0.25);
  EXPECT_EQ(metadata.find_string("text").value(), "hello");
  EXPECT_EQ(metadata.find_strings("texts").value(), (std::vector<std::string_view>{"a", "", "bc"}));
  EXPECT_EQ(metadata.find_integers("ids").value(), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(metadata.find_integer("absent").value(), std::nullopt);
}

TEST(GgufFileTest, WrongTypeNamesKeyFoundAndExpected) {
  GgufWriter writer;
  writer.set_string("text", "hello");
  writer.set("big", ~std::uint64_t{0});
  const TempFolder folder;
  const Result<GgufFile> file = open_bytes(folder, writer.bytes());
  ASSERT_TRUE(file) << file.error().message;

  const auto integer = file->metadata.find_integer("text");
  const auto big = file->metadata.find_integer("big");

  ASSERT_FALSE(integer);
  EXPECT_THAT(integer.error().message,
              HasSubstr("model.gguf: key 'text': expected an integer, found string"));
  ASSERT_FALSE(big);
  EXPECT_THAT(big.error().message, HasSubstr("key 'big': expected a 64-bit signed integer"));
}

TEST(GgufFileTest, ReadsVersionTwoAndThree) {
  for (const std::uint32_t version : {2U, 3U}) {
    GgufWriter writer;
    writer.set_version(version);
    writer.set("k", 1U);
    const TempFolder folder;

    const Result<GgufFile> file = open_bytes(folder, writer.bytes());

    EXPECT_TRUE(file) << version;
  }
}

TEST(GgufFileTest, TensorShapesAreRowMajor) {
  const TempFolder folder;

  const Result<GgufFile> file =
      open_bytes(folder, with_tensor({3, 2}, 0, std::string(3 * 2 * 4, '\0')));

  ASSERT_TRUE(file) << file.error().message;
  const StoredTensor& tensor = file->tensors.at("t");
  EXPECT_EQ(tensor.shape, (TensorSource::Shape{2, 3}));
  EXPECT_EQ(tensor.bytes.size(), 24U);
}

// M01: every prefix that is cut somewhere interesting.
TEST(GgufFileTest, TruncatedFilesAreRefused) {
  const std::string whole = make_tiny_model().gguf().bytes();
  // Near the end of the tensor list the first tensor's name is followed by its data.
  const std::size_t tensor_list = whole.find("token_embd.weight");
  for (const std::size_t size :
       {std::size_t{3}, std::size_t{4}, std::size_t{23}, std::size_t{100}, tensor_list / 2,
        tensor_list + 10, whole.size() - 4096, whole.size() - 1}) {
    SCOPED_TRACE(size);
    expect_refused(whole.substr(0, size), size < 4 ? "inside the magic number" : "the file ");
  }
}

// M01: no prefix of a small file crashes the reader, and none but the whole is accepted.
TEST(GgufFileTest, NoPrefixOfAFileIsAccepted) {
  GgufWriter writer;
  writer.set("number", 7U);
  writer.set_strings("texts", {"a", "bc"});
  writer.add_tensor({"t", {8, 4}, 0, std::string(128, 'x')});
  const std::string whole = writer.bytes();
  const TempFolder folder;

  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(open_bytes(folder, whole.substr(0, size))) << size;
  }
  EXPECT_TRUE(open_bytes(folder, whole));
}

// M02: counts and lengths beyond the file.
TEST(GgufFileTest, LyingHeaderIsRefused) {
  GgufWriter writer;
  writer.set("k", 1U);
  const std::string good = writer.bytes();
  struct Case {
    std::size_t offset;
    std::uint64_t value;
    std::string message;
  };
  const std::vector<Case> cases = {
      {kNumTensorsOffset, std::uint64_t{1} << 63, "claims 9223372036854775808 tensors"},
      {kNumTensorsOffset, 65536, "tensor 1 of 65536 has a name of 0 bytes"},
      {kNumKeysOffset, ~std::uint64_t{0}, "claims 18446744073709551615 keys"},
      {kNumKeysOffset, 65536, "key 2 of 65536"},
      {kFirstKeyOffset, ~std::uint64_t{0}, "name of 18446744073709551615 bytes"},
      {kFirstKeyOffset, 0, "name of 0 bytes"},
      {kFirstKeyOffset, 1000, "inside key 1 of 1"},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.message);
    std::string bytes = good;
    patch(bytes, bad.offset, bad.value);
    expect_refused(bytes, bad.message);
  }
}

TEST(GgufFileTest, WrongMagicAndVersionsAreRefused) {
  GgufWriter writer;
  std::string magic = writer.bytes();
  magic[3] = 'G';
  expect_refused(magic, "expected it to begin with 'GGUF', found 'GGUG'");

  struct Case {
    std::uint32_t version;
    std::string message;
  };
  const std::vector<Case> cases = {
      {0, "GGUF version 0 is not supported, expected 2 or 3"},
      {1, "GGUF version 1 is not supported"},
      {99, "GGUF version 99 is not supported"},
      {0x03000000, "big-endian GGUF is not supported"},
      {0x02000000, "big-endian GGUF is not supported"},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.message);
    std::string bytes = writer.bytes();
    patch(bytes, kVersionOffset, bad.version);
    expect_refused(bytes, bad.message);
  }
}

TEST(GgufFileTest, LyingValuesAreRefused) {
  constexpr std::uint32_t kString = 8;
  constexpr std::uint32_t kArray = 9;
  const auto u32 = [](std::uint32_t value) { return GgufWriter::raw_bytes(value); };
  const auto u64 = [](std::uint64_t value) { return GgufWriter::raw_bytes(value); };
  std::string nested;  // an array of one array of one array …
  for (int depth = 0; depth < 10000; ++depth) nested += u32(kArray) + u64(1);
  struct Case {
    std::uint32_t type;
    std::string value;
    std::string message;
  };
  const std::vector<Case> cases = {
      {kString, u64(1000) + "short", "inside key 'k'"},
      {kString, u64(~std::uint64_t{0}) + "short", "claims 18446744073709551615 bytes"},
      {kArray, u32(10) + u64(std::uint64_t{1} << 61), "claims 2305843009213693952 elements"},
      {kArray, u32(10) + u64(1000) + "short", "inside key 'k'"},
      {kArray, u32(kString) + u64(1000000), "inside key 'k'"},
      {kArray, u32(kString) + u64(3) + u64(1) + "a" + u64(~std::uint64_t{0}) + u64(1) + "b",
       "claims 18446744073709551615 bytes"},
      {kArray, u32(77) + u64(1), "unknown element type 77"},
      {kArray, nested, "arrays of arrays are not supported"},
      {13, "xxxx", "unknown value type 13"},
      {0xffffffff, "xxxx", "unknown value type 4294967295"},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.message);
    expect_refused(with_value(bad.type, bad.value), bad.message);
  }
}

TEST(GgufFileTest, RepeatedNamesAreRefused) {
  GgufWriter keys;
  keys.set("ka", 1U);
  keys.set("kb", 2U);
  std::string bytes = keys.bytes();
  bytes[bytes.find("kb") + 1] = 'a';
  expect_refused(bytes, "key 'ka' is stored twice");

  GgufWriter tensors;
  tensors.add_tensor({"t", {8}, 0, std::string(32, '\0')});
  tensors.add_tensor({"t", {8}, 0, std::string(32, '\0')});
  expect_refused(tensors.bytes(), "tensor 't' is stored twice");
}

// M03
TEST(GgufFileTest, BadDimensionsAreRefused) {
  const std::uint64_t huge = (std::uint64_t{1} << 42) + 1;
  struct Case {
    std::vector<std::uint64_t> dimensions;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{1, 0}, "tensor 't': dimension 1 is 0"},
      {{0}, "tensor 't': dimension 0 is 0"},
      {{}, "tensor 't' has 0 dimensions, expected 1 to 4"},
      {{1, 1, 1, 1, 1}, "tensor 't' has 5 dimensions, expected 1 to 4"},
      {std::vector<std::uint64_t>(9, 1), "tensor 't' has 9 dimensions"},
      {{64, huge}, "tensor 't': dimension 1 is 4398046511105"},
      {{~std::uint64_t{0}, ~std::uint64_t{0}}, "tensor 't': dimension 0 is 18446744073709551615"},
      {{std::uint64_t{1} << 32, std::uint64_t{1} << 32}, "tensor 't': dimension 1 is 4294967296"},
      {{1U << 20, 1U << 20}, "tensor 't' needs 4398046511104 bytes at offset 0"},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.message);
    expect_refused(with_tensor(bad.dimensions, 0, "datadata"), bad.message);
  }
}

TEST(GgufFileTest, DimensionCountBeyondAllReasonIsRefused) {
  std::string bytes = with_tensor({4}, 0, std::string(16, '\0'));
  // The count follows the tensor's name: 8 bytes of length, 1 of name.
  patch(bytes, kFirstKeyOffset + 8 + 1, std::uint32_t{0xffffffff});

  expect_refused(bytes, "tensor 't' has 4294967295 dimensions");
}

TEST(GgufFileTest, BlocksAndPlacesAreChecked) {
  expect_refused(with_tensor({100}, 12, std::string(144, '\0')),
                 "tensor 't' has rows of 100 values, expected a multiple of 256 for Q4_K");
  expect_refused(with_tensor({256}, 39, std::string(136, '\0')),
                 "tensor 't' has the unsupported type number 39; supported: F32, F16, BF16, Q8_0");

  // The offset is the last field of the tensor list: name 8 + 1, count 4, dimension 8, type 4.
  constexpr std::size_t kOffsetField = kFirstKeyOffset + 8 + 1 + 4 + 8 + 4;
  std::string misaligned = with_tensor({8}, 0, std::string(64, '\0'));
  patch(misaligned, kOffsetField, std::uint64_t{4});
  expect_refused(misaligned, "tensor 't' starts at offset 4, expected a multiple of 32");
  std::string outside = with_tensor({8}, 0, std::string(64, '\0'));
  patch(outside, kOffsetField, ~std::uint64_t{31});
  expect_refused(outside, "tensor 't' needs 32 bytes at offset 18446744073709551584");
}

TEST(GgufFileTest, AlignmentIsAPowerOfTwoWithinBounds) {
  for (const std::uint32_t alignment : {0U, 1U, 3U, 48U, 1U << 21, 0xffffffffU}) {
    SCOPED_TRACE(alignment);
    GgufWriter writer;
    writer.set("general.alignment", alignment);
    expect_refused(writer.bytes(), "key 'general.alignment': expected a power of two");
  }
}

TEST(GgufFileTest, NamesInMessagesAreOneCleanLine) {
  GgufWriter writer;
  writer.set_raw("a\nb\x1b[31m", 77, "");

  const TempFolder folder;
  const Result<GgufFile> file = open_bytes(folder, writer.bytes());

  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("key 'a?b?[31m'"));
}

}  // namespace
}  // namespace paceline
