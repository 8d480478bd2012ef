#include <gtest/gtest.h>

#include "app/model_opener.h"

namespace paceline {
namespace {

TEST(ModelIdTest, NamesBecomeLowerCaseIds) {
  EXPECT_EQ(to_model_id("Qwen2.5 Coder 0.5B Instruct"), "qwen2.5-coder-0.5b-instruct");
  EXPECT_EQ(to_model_id("a/b\"c\n"), "a-b-c-");
  EXPECT_EQ(to_model_id(""), "");
}

TEST(OpenModelTest, WithoutAPathTheMessageSaysHowToGiveOne) {
  const auto opened = open_model(ModelOptions{});

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kBadConfig);
  EXPECT_NE(opened.error().message.find("--model"), std::string::npos);
}

}  // namespace
}  // namespace paceline
