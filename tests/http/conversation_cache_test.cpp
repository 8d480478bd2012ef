#include "http/conversation_cache.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

std::shared_ptr<const Conversation> conversation(std::size_t text_bytes) {
  return std::make_shared<const Conversation>(
      Conversation{openai::MessageItem{Role::kUser, std::string(text_bytes, 'x')}});
}

TEST(ConversationCacheTest, KeepsTheMostRecentlyUsed) {
  ConversationCache cache(2, 100000);
  cache.add("a", conversation(1));
  cache.add("b", conversation(1));
  EXPECT_NE(cache.find("a"), nullptr);

  cache.add("c", conversation(1));

  EXPECT_NE(cache.find("a"), nullptr);
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_NE(cache.find("c"), nullptr);
}

TEST(ConversationCacheTest, BytesAreBounded) {
  const std::size_t size = conversation_bytes(*conversation(1000));
  ConversationCache cache(32, 2 * size);
  cache.add("a", conversation(1000));
  cache.add("b", conversation(1000));
  EXPECT_EQ(cache.bytes(), 2 * size);

  cache.add("c", conversation(1000));
  cache.add("larger than all", conversation(3000));

  EXPECT_EQ(cache.find("a"), nullptr);
  EXPECT_NE(cache.find("b"), nullptr);
  EXPECT_NE(cache.find("c"), nullptr);
  EXPECT_EQ(cache.find("larger than all"), nullptr);
}

}  // namespace
}  // namespace paceline
