#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "chat/chat_template.h"
#include "tests/chat/qwen25_jinja.h"

namespace paceline {
namespace {

using testing::HasSubstr;

Message message(Role role, std::string content) {
  Message m;
  m.role = role;
  m.content = std::move(content);
  return m;
}

class Qwen25TemplateTest : public testing::Test {
 protected:
  std::string render(const std::vector<Message>& messages,
                     const ChatTemplateOptions& options = {}) const {
    const auto segments = template_->render(messages, options);
    return segments ? joined_text(*segments) : segments.error().message;
  }

  const std::unique_ptr<ChatTemplate> template_ = *make_chat_template({}, {});
};

TEST_F(Qwen25TemplateTest, DefaultSystemTextStandsInOnlyWhenThereIsNone) {
  EXPECT_EQ(render({message(Role::kUser, "Hello")}),
            "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
            "assistant.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(render({message(Role::kSystem, ""), message(Role::kUser, "Hello")}),
            "<|im_start|>system\n<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST_F(Qwen25TemplateTest, LaterSystemMessagesKeepTheirPlace) {
  EXPECT_EQ(
      render({message(Role::kSystem, "A"), message(Role::kUser, "B"), message(Role::kSystem, "C")},
             {.add_generation_prompt = false}),
      "<|im_start|>system\nA<|im_end|>\n<|im_start|>user\nB<|im_end|>\n"
      "<|im_start|>system\nC<|im_end|>\n");
}

TEST_F(Qwen25TemplateTest, TextOfTheConversationIsNeverMarkup) {
  Message call = message(Role::kAssistant, "<|im_end|>1");
  call.tool_calls = {{"call_1", "<|im_end|>2", R"({"a":"<|im_end|>3"})"}};
  const std::vector<Message> messages = {message(Role::kSystem, "<|im_end|>4"),
                                         message(Role::kUser, "<|im_end|>5"), call,
                                         message(Role::kTool, "<|im_end|>6")};

  const auto segments = template_->render(messages, {.tools = {R"({"type":"<|im_end|>7"})"}});

  std::string plain;
  std::string markup;
  for (const TextSegment& segment : *segments) {
    (segment.special == SpecialText::kPlain ? plain : markup) += segment.text;
  }
  for (const char digit : {'1', '2', '3', '4', '5', '6', '7'}) {
    const std::string typed = std::string("<|im_end|>") + digit;
    EXPECT_THAT(plain, HasSubstr(typed));
    EXPECT_THAT(markup, testing::Not(HasSubstr(typed)));
  }
}

TEST_F(Qwen25TemplateTest, ToolsAndCallsAreWrittenAsPythonJson) {
  Message call = message(Role::kAssistant, "");
  call.tool_calls = {{"call_1", "get_weather", R"({"city":"Par\u00eds"})"}, {"call_2", "now", ""}};

  EXPECT_EQ(render({message(Role::kUser, "Hi"), call, message(Role::kTool, "18C"),
                    message(Role::kTool, "noon")},
                   {.add_generation_prompt = false, .tools = {R"({"type":"function","n":1.0})"}}),
            "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
            "assistant.\n\n# Tools\n\nYou may call one or more functions to assist with the user "
            "query.\n\nYou are provided with function signatures within <tools></tools> XML "
            "tags:\n<tools>\n{\"type\": \"function\", \"n\": 1.0}\n</tools>\n\nFor each function "
            "call, return a json object with function name and arguments within "
            "<tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, "
            "\"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n"
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<tool_call>\n{\"name\": "
            "\"get_weather\", \"arguments\": {\"city\": \"París\"}}\n</tool_call>\n<tool_call>\n"
            "{\"name\": \"now\", \"arguments\": \"\"}\n</tool_call><|im_end|>\n<|im_start|>user\n"
            "<tool_response>\n18C\n</tool_response>\n<tool_response>\nnoon\n</tool_response>"
            "<|im_end|>\n");
}

TEST_F(Qwen25TemplateTest, ContinuedAssistantTurnStaysOpen) {
  const std::vector<Message> messages = {message(Role::kSystem, ""), message(Role::kUser, "Hi"),
                                         message(Role::kAssistant, "Sure, ")};

  EXPECT_THAT(render(messages, {.add_generation_prompt = false, .continue_final_message = true}),
              testing::EndsWith("<|im_end|>\n<|im_start|>assistant\nSure, "));
}

TEST_F(Qwen25TemplateTest, ConversationsThatCannotBeExpressedAreRefusedWithTheirField) {
  Message call = message(Role::kAssistant, "");
  call.tool_calls = {{"call_1", "now", "{}"}};
  const struct {
    std::vector<Message> messages;
    ChatTemplateOptions options;
    std::string param;
  } cases[] = {
      {{}, {}, "messages"},
      {{message(Role::kUser, "Hi")},
       {.add_generation_prompt = true, .continue_final_message = true},
       "continue_final_message"},
      {{message(Role::kUser, "Hi")},
       {.add_generation_prompt = false, .continue_final_message = true},
       "messages[0]"},
      {{message(Role::kUser, "Hi"), call},
       {.add_generation_prompt = false, .continue_final_message = true},
       "messages[1]"},
      {{message(Role::kUser, "Hi")}, {.tools = {"{}", "{"}}, "tools[1]"},
  };
  for (const auto& c : cases) {
    const auto result = template_->render(c.messages, c.options);

    ASSERT_FALSE(result.has_value()) << c.param;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidValue);
    EXPECT_EQ(result.error().param, c.param);
  }
}

TEST(MakeChatTemplateTest, TakesTheDefaultSystemTextOfTheFile) {
  const Message hello = message(Role::kUser, "Hello");
  for (const std::string_view override_name : {"", "chatml"}) {
    const auto made = make_chat_template(qwen25_jinja("Be brief."), override_name);

    EXPECT_THAT(joined_text(*(*made)->render({&hello, 1}, {})),
                testing::StartsWith("<|im_start|>system\nBe brief.<|im_end|>\n"));
  }
}

TEST(MakeChatTemplateTest, UnknownTemplateNeedsTheOverride) {
  EXPECT_EQ(make_chat_template("{{ messages }}", "").error().code, ErrorCode::kBadFile);
  EXPECT_TRUE(make_chat_template("{{ messages }}", "chatml").has_value());
  EXPECT_EQ(make_chat_template("", "llama").error().code, ErrorCode::kBadConfig);
}

}  // namespace
}  // namespace paceline
