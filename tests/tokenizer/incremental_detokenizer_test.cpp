#include "tokenizer/incremental_detokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tests/support/tiny_vocabulary.h"
#include "tokenizer/bpe_tokenizer.h"

namespace paceline {
namespace {

class IncrementalDetokenizerTest : public testing::Test {
 protected:
  std::vector<std::string> pieces(const std::vector<int>& ids, bool skip_control = true) {
    IncrementalDetokenizer detokenizer(*tokenizer_, skip_control);
    std::vector<std::string> texts;
    for (const int id : ids) texts.push_back(detokenizer.append(TokenId{id}));
    texts.push_back(detokenizer.flush());
    return texts;
  }

  const std::unique_ptr<Tokenizer> tokenizer_ = *make_bpe_tokenizer(tiny_vocabulary());
};

using Texts = std::vector<std::string>;

TEST_F(IncrementalDetokenizerTest, CharacterSplitOverTokensArrivesWhole) {
  EXPECT_EQ(pieces({'a', 261, 0xA0, 262}), (Texts{"a", "", "你", "你", ""}));
  EXPECT_EQ(pieces({0xF0, 0x9F, 0x98, 0x80}), (Texts{"", "", "", "😀", ""}));
}

TEST_F(IncrementalDetokenizerTest, BytesThatCanNeverBecomeACharacterAreReplacedAtOnce) {
  EXPECT_EQ(pieces({261, 'a', 0x80}), (Texts{"", "\uFFFDa", "\uFFFD", ""}));
}

TEST_F(IncrementalDetokenizerTest, FlushReplacesAnUnfinishedCharacter) {
  EXPECT_EQ(pieces({'a', 261}), (Texts{"a", "", "\uFFFD"}));
}

TEST_F(IncrementalDetokenizerTest, ControlTokensAreShownOnlyWhenAsked) {
  EXPECT_EQ(pieces({259, 265, 266}), (Texts{"Hello", "", "<tool_call>", ""}));
  EXPECT_EQ(pieces({259, 265}, false), (Texts{"Hello", "<|im_end|>", ""}));
}

TEST_F(IncrementalDetokenizerTest, JoinedPiecesEqualTheTextDecodedAtOnce) {
  constexpr unsigned kSeed = 17;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    IncrementalDetokenizer detokenizer(*tokenizer_, true);
    std::vector<TokenId> ids;
    std::string joined;
    for (int i = 0; i < 10; ++i) {
      const TokenId id{static_cast<int>(random() % 2 == 0 ? 256 + random() % 11 : random() % 256)};
      ids.push_back(id);
      const std::string text = detokenizer.append(id);
      ASSERT_TRUE(is_valid_utf8(text));
      joined += text;
    }
    joined += detokenizer.flush();

    ASSERT_EQ(joined, to_lossy_utf8(tokenizer_->decode(ids, true)))
        << "seed " << kSeed << ", round " << round;
  }
}

}  // namespace
}  // namespace paceline
