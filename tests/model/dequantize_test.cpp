#include "model/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace paceline {
namespace {

/// One record of tests/golden/dequantize.bin.
struct GoldenRecord {
  TensorType type{};
  std::vector<std::byte> blocks;
  std::vector<float> values;
};

std::vector<GoldenRecord> read_golden() {
  std::ifstream file(PACELINE_GOLDEN_FOLDER "/dequantize.bin", std::ios::binary);
  std::vector<GoldenRecord> records;
  std::uint32_t header[3];
  while (file.read(reinterpret_cast<char*>(header), sizeof header)) {
    GoldenRecord record;
    record.type = tensor_type_from_gguf(header[0]).value();
    record.blocks.resize(header[1]);
    record.values.resize(header[2]);
    file.read(reinterpret_cast<char*>(record.blocks.data()), header[1]);
    file.read(reinterpret_cast<char*>(record.values.data()),
              static_cast<std::streamsize>(header[2] * sizeof(float)));
    EXPECT_TRUE(file) << "dequantize.bin is cut short";
    records.push_back(std::move(record));
  }
  return records;
}

TEST(DequantizeTest, EveryTypeEqualsTheReferenceBitForBit) {
  const std::vector<GoldenRecord> records = read_golden();
  std::set<TensorType> seen;

  for (const GoldenRecord& record : records) {
    std::vector<float> out(record.values.size());
    dequantize(record.type, record.blocks, out);

    seen.insert(record.type);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]),
                std::bit_cast<std::uint32_t>(record.values[i]))
          << tensor_type_info(record.type).name << " value " << i << ": " << out[i] << ", expected "
          << record.values[i];
    }
  }
  EXPECT_EQ(seen.size(), 16U);
}

TEST(TensorTypeTest, UnknownNumbersAreNoType) {
  // 4 and 5 are removed formats, 9 and 15 only for activations, 39 MXFP4.
  for (const std::uint32_t number : {4U, 5U, 9U, 15U, 16U, 39U, 0xffffffffU}) {
    EXPECT_FALSE(tensor_type_from_gguf(number)) << number;
  }
}

}  // namespace
}  // namespace paceline
