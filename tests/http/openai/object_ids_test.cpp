#include "http/openai/object_ids.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace paceline::openai {
namespace {

TEST(ObjectIdsTest, HavePrefixAnd24AlphanumericCharacters) {
  std::mt19937_64 random(7);
  const std::map<IdKind, std::string> prefixes = {
      {IdKind::kRequest, "req_"},   {IdKind::kChat, "chatcmpl-"}, {IdKind::kCompletion, "cmpl-"},
      {IdKind::kResponse, "resp_"}, {IdKind::kMessage, "msg_"},   {IdKind::kFunctionCall, "fc_"},
      {IdKind::kCall, "call_"},
  };
  for (const auto& [kind, prefix] : prefixes) {
    const std::string id = make_id(kind, [&] { return random(); });
    EXPECT_EQ(id.substr(0, prefix.size()), prefix);
    EXPECT_EQ(id.size(), prefix.size() + 24);
    EXPECT_EQ(id.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                                   prefix.size()),
              std::string::npos);
  }
}

TEST(ObjectIdsTest, UseEveryCharacterAboutEquallyOften) {
  std::mt19937_64 random(11);
  std::map<char, int> counts;
  std::set<std::string> ids;
  constexpr int kNumIds = 4000;
  for (int i = 0; i < kNumIds; ++i) {
    const std::string id = make_id(IdKind::kCall, [&] { return random(); });
    for (const char c : id.substr(5)) ++counts[c];
    ids.insert(id);
  }

  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kNumIds));
  EXPECT_EQ(counts.size(), 62U);
  // 4000 · 24 / 62 = 1548 expected, standard deviation 39: six of them on either side.
  for (const auto& [character, count] : counts) EXPECT_NEAR(count, 1548, 234) << character;
}

}  // namespace
}  // namespace paceline::openai
