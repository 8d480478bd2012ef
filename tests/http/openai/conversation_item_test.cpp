#include "http/openai/conversation_item.h"

#include <gtest/gtest.h>

namespace paceline::openai {
namespace {

using Items = std::vector<ConversationItem>;

TEST(ConversationItemTest, InstructionsLeadAndRolesAreKept) {
  const std::string instructions = "Be brief.";
  const Items items{MessageItem{Role::kUser, "a"}, MessageItem{Role::kAssistant, "b"}};

  const auto messages = to_messages(&instructions, items);

  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].role, Role::kSystem);
  EXPECT_EQ(messages[0].content, "Be brief.");
  EXPECT_EQ(messages[2].role, Role::kAssistant);
}

TEST(ConversationItemTest, CallsJoinTheAssistantTurnBeforeThem) {
  const Items items{MessageItem{Role::kUser, "q"},
                    MessageItem{Role::kAssistant, "I look."},
                    FunctionCallItem{"c1", "f", R"({ "a" : 1 })"},
                    FunctionCallItem{"c2", "g", "broken"},
                    FunctionResultItem{"c1", "r1"},
                    FunctionResultItem{"c2", "r2"},
                    FunctionCallItem{"c3", "h", "{}"}};

  const auto messages = to_messages(nullptr, items);

  ASSERT_EQ(messages.size(), 5U);
  ASSERT_EQ(messages[1].tool_calls.size(), 2U);
  EXPECT_EQ(messages[1].content, "I look.");
  EXPECT_EQ(messages[1].tool_calls[0].arguments, R"({"a":1})");
  EXPECT_EQ(messages[1].tool_calls[1].arguments, "\"broken\"");
  EXPECT_EQ(messages[2].role, Role::kTool);
  EXPECT_EQ(messages[3].tool_call_id, "c2");
  EXPECT_EQ(messages[4].role, Role::kAssistant);
  EXPECT_EQ(messages[4].content, "");
}

TEST(ConversationItemTest, ResultNeedsItsCallBeforeIt) {
  const Items earlier{FunctionCallItem{"old", "f", "{}"}};
  const Items good{FunctionResultItem{"old", "r"}, FunctionCallItem{"new", "f", "{}"},
                   FunctionResultItem{"new", "r"}};
  const Items bad{MessageItem{Role::kUser, "x"}, FunctionResultItem{"new", "r"},
                  FunctionCallItem{"new", "f", "{}"}};

  EXPECT_TRUE(check_function_results(earlier, good));
  const auto refused = check_function_results(earlier, bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "input[1].call_id");
}

}  // namespace
}  // namespace paceline::openai
