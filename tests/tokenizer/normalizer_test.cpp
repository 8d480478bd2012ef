#include "tokenizer/normalizer.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace paceline {
namespace {

std::string nfc(std::string_view text) {
  std::string storage;
  return std::string(to_nfc(text, storage));
}

std::string nfc_of_utf8proc(const std::string& text) {
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> result(
      utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str())), &std::free);
  return reinterpret_cast<const char*>(result.get());
}

void append(std::string& text, utf8proc_int32_t code_point) {
  utf8proc_uint8_t bytes[4];
  const auto length = utf8proc_encode_char(code_point, bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
}

TEST(NormalizerTest, NormalTextIsReturnedWithoutACopy) {
  const std::string text = "Grüße, 你好，世界！ Привет 😀";
  std::string storage;

  EXPECT_EQ(to_nfc(text, storage).data(), text.data());
}

TEST(NormalizerTest, MarksJoinTheirLetterAndSingletonsAreReplaced) {
  EXPECT_EQ(nfc("cafe\u0301!"), "caf\u00E9!");
  EXPECT_EQ(nfc("\u1112\u1161\u11AB\u1100\u1173\u11AF"), "\uD55C\uAE00");
  EXPECT_EQ(nfc("\uAC00\u11A8"), "\uAC01");
  EXPECT_EQ(nfc("\u212B"), "\u00C5");
  EXPECT_EQ(nfc("\u304B\u3099"), "\u304C");
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093C");
}

TEST(NormalizerTest, MarksAreOrderedByClass) {
  EXPECT_EQ(nfc("q\u0307\u0323 x"), "q\u0323\u0307 x");
  EXPECT_EQ(nfc("\u0301\u0323"), "\u0323\u0301");
}

TEST(NormalizerTest, NulIsAnOrdinaryCharacter) {
  const std::string text("a\0e\u0301", 5);

  EXPECT_EQ(nfc(text), std::string("a\0\u00E9", 4));
}

TEST(NormalizerTest, CharactersNewerThanUnicode9StayWhereTheyAre) {
  EXPECT_EQ(nfc("a\u1DF6\u0323"), "a\u1DF6\u0323");                // mark of Unicode 10, class 232
  EXPECT_EQ(nfc("\U00011935\U00011930"), "\U00011935\U00011930");  // parts of U+11938, Unicode 13
}

TEST(NormalizerTest, OlderTextIsNormalisedAsByTheLibrary) {
  constexpr unsigned kSeed = 11;
  std::mt19937 random(kSeed);
  // Blocks that are whole in Unicode 9, with all kinds of decompositions, classes and compositions.
  constexpr utf8proc_int32_t kBlocks[][2] = {
      {0x20, 0x17F},    {0x300, 0x36F},   {0x390, 0x45F},   {0x5D0, 0x5EA},     {0x64B, 0x655},
      {0x900, 0x97F},   {0x1100, 0x11FF}, {0x1E00, 0x1EFF}, {0x1F00, 0x1F15},   {0x2126, 0x212B},
      {0x3041, 0x309F}, {0xAC00, 0xACFF}, {0xF900, 0xFA0D}, {0x1D15E, 0x1D164}, {0x1D165, 0x1D172}};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) {
      const auto& block = kBlocks[random() % std::size(kBlocks)];
      append(text, block[0] + static_cast<utf8proc_int32_t>(
                                  random() % static_cast<unsigned>(block[1] - block[0] + 1)));
    }

    ASSERT_EQ(nfc(text), nfc_of_utf8proc(text)) << "seed " << kSeed << ", round " << round;
  }
}

TEST(NormalizerTest, LongRunOfDisorderedMarksIsNotQuadratic) {
  std::string text = "e";
  for (int i = 0; i < 200'000; ++i) text += "\u0301\u0323";
  const auto start = std::chrono::steady_clock::now();

  const std::string result = nfc(text);

  EXPECT_EQ(result.substr(0, 5), "\u1EB9\u0323");
  // Exchanging neighbours would take 2 · 10^10 steps.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace paceline
