#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/kvpool/kvpool_fixture.h"

namespace paceline {
namespace {

using ::testing::IsEmpty;

/// Prompts drawn from few beginnings, so that most of them meet in the cache.
std::vector<TokenId> random_prompt(std::mt19937& random) {
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<TokenId> tokens = token_run(pick(3) * 100, 1 + pick(20));
  if (pick(2) == 0) tokens = join(tokens, token_run(pick(3) * 100, pick(20)));
  return tokens;
}

struct User {
  std::string salt;
  std::vector<TokenId> tokens;
  BlockTable table;
};

/// Checks a match against what is known about every block: the tokens before its end.
void expect_true_match(const PoolWithCache& kv, const PrefixMatch& match,
                       const std::map<BlockId, std::vector<TokenId>>& contents,
                       const std::string& salt, const std::vector<TokenId>& tokens) {
  const auto length = [&](int full, int rest) {
    return static_cast<std::ptrdiff_t>(full * kv.block_size + rest);
  };
  std::vector<TokenId> past = {TokenId{salt == "a" ? -1 : -2}};
  for (int i = 0; i < static_cast<int>(match.blocks.size()); ++i) {
    std::vector<TokenId> expected = past;
    expected.insert(expected.end(), tokens.begin(), tokens.begin() + length(i + 1, 0));
    ASSERT_EQ(contents.at(match.blocks[static_cast<std::size_t>(i)]), expected);
  }
  if (match.partial) {
    std::vector<TokenId> expected = past;
    expected.insert(
        expected.end(), tokens.begin(),
        tokens.begin() + length(static_cast<int>(match.blocks.size()), match.partial->num_tokens));
    std::vector<TokenId> cached = contents.at(match.partial->source);
    cached.resize(expected.size());
    ASSERT_EQ(cached, expected);
  }
}

class KvPoolRandomTest : public ::testing::TestWithParam<BlockHashFunction> {};

INSTANTIATE_TEST_SUITE_P(Hashes, KvPoolRandomTest, ::testing::Values(&hash_block, &constant_hash));

TEST_P(KvPoolRandomTest, RulesHoldAndEveryHitIsTrueAfterEveryStep) {
  constexpr unsigned kSeed = 20260917;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  PoolWithCache kv(24, 4, GetParam());
  std::vector<User> users;
  std::map<BlockId, std::vector<TokenId>> contents;
  int num_cached_tokens = 0;

  for (int step = 0; step < 3000; ++step) {
    if (users.size() > 5 || (!users.empty() && random() % 3 == 0)) {
      users.erase(users.begin() + static_cast<std::ptrdiff_t>(random() % users.size()));
    } else {
      User user{random() % 4 == 0 ? "b" : "a", random_prompt(random), BlockTable(kv.pool)};
      expect_true_match(kv, kv.match(user.salt, user.tokens), contents, user.salt, user.tokens);
      const int cached = kv.compute(user.salt, user.tokens, user.table);
      if (cached < 0) continue;
      num_cached_tokens += cached;
      for (std::size_t i = 0; i < user.table.ids().size(); ++i) {
        std::vector<TokenId> content = {TokenId{user.salt == "a" ? -1 : -2}};
        const auto end = std::min(user.tokens.size(), (i + 1) * 4);
        content.insert(content.end(), user.tokens.begin(),
                       user.tokens.begin() + static_cast<std::ptrdiff_t>(end));
        contents[user.table.ids()[i]] = content;
      }
      users.push_back(std::move(user));
    }

    std::vector<const BlockTable*> tables;
    for (const User& user : users) tables.push_back(&user.table);
    ASSERT_THAT(kv.broken_rules(tables), IsEmpty()) << "step " << step;
  }

  EXPECT_GT(num_cached_tokens, 1000);
  EXPECT_GT(kv.pool.num_evictions(), 100U);
  users.clear();
  EXPECT_EQ(kv.pool.num_free(), 24);
}

}  // namespace
}  // namespace paceline
