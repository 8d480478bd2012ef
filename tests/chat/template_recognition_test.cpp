#include "chat/template_recognition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "chat/chat_template.h"
#include "tests/chat/qwen25_jinja.h"
#include "tests/support/real_vocabulary.h"

namespace paceline {
namespace {

using testing::HasSubstr;

std::string replaced(std::string text, std::string_view find, std::string_view replacement) {
  for (std::size_t pos = 0; (pos = text.find(find, pos)) != std::string::npos;) {
    text.replace(pos, find.size(), replacement);
    pos += replacement.size();
  }
  return text;
}

TEST(TemplateRecognitionTest, FamilyIsRecognisedWhateverItsDefaultSystemText) {
  EXPECT_EQ(recognise_qwen25_template(qwen25_jinja("You are a helpful assistant.")),
            "You are a helpful assistant.");
  EXPECT_EQ(recognise_qwen25_template(qwen25_jinja(R"(put it within \\boxed{}.)")),
            R"(put it within \boxed{}.)");
}

TEST(TemplateRecognitionTest, SpacingQuotesCommentsAndBracketsDoNotMatter) {
  std::string jinja = qwen25_jinja("Be brief.");
  jinja = replaced(jinja, "{%-", "{%");
  jinja = replaced(jinja, "\n    ", "\n");
  jinja = replaced(jinja, "message.role", "message[ 'role' ]");
  jinja = replaced(jinja, "\"user\"", "'user'");

  EXPECT_EQ(recognise_qwen25_template("{# a 'comment' #}" + jinja), "Be brief.");
}

TEST(TemplateRecognitionTest, TemplateOfTheRealModelIsRecognised) {
  const auto model = test_model_path();
  if (!model) GTEST_SKIP() << "needs PACELINE_TEST_MODEL";

  EXPECT_EQ(recognise_qwen25_template(read_vocabulary(*model).chat_template),
            "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.");
}

TEST(TemplateRecognitionTest, OtherTemplatesAreRefusedWithWhatIsDifferent) {
  const std::string jinja = qwen25_jinja("Be brief.");
  const struct {
    std::string text;
    std::string_view message;
  } cases[] = {
      {"{{ bos_token }}{% for message in messages %}{{ message.content }}{% endfor %}", "too few"},
      {"[INST] {{ messages[0].content }} [/INST]", "[INST]"},
      {replaced(jinja, "<tool_response>", "<result>"), "<result>"},
      {replaced(jinja, "'<|im_start|>assistant\\n'", "'<|im_start|>assistant\\n<think>\\n'"),
       "<think>"},
      {jinja + "{{ '<extra>' }}", "<extra>"},
      {jinja.substr(0, jinja.rfind("{{- '<|im_start|>assistant")), "lacks"},
      {"{{ 'open", "not closed"},
      {"{% if x", "not closed"},
      {"{# open", "not closed"},
      {"{ 'x' }", "not closed or not known"},
  };
  for (const auto& c : cases) {
    const auto result = recognise_qwen25_template(c.text);

    ASSERT_FALSE(result.has_value()) << c.message;
    EXPECT_EQ(result.error().code, ErrorCode::kBadFile);
    EXPECT_THAT(result.error().message, HasSubstr(c.message));
    EXPECT_THAT(result.error().message, HasSubstr("--chat-template chatml"));
  }
}

TEST(TemplateRecognitionTest, DefaultsThatDifferWithAndWithoutToolsAreRefused) {
  std::string jinja = qwen25_jinja("Be brief.");
  jinja.replace(jinja.rfind("Be brief."), 9, "Be loud.");

  EXPECT_THAT(recognise_qwen25_template(jinja).error().message, HasSubstr("Be loud."));
}

TEST(TemplateRecognitionTest, EveryTruncationIsRefused) {
  const std::string jinja = qwen25_jinja("Be brief.");
  const std::size_t last_text = jinja.rfind("assistant");
  for (std::size_t length = 0; length < last_text; ++length) {
    ASSERT_FALSE(recognise_qwen25_template(jinja.substr(0, length)).has_value()) << length;
  }
}

}  // namespace
}  // namespace paceline
