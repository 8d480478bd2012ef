#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "http/openai/parse_context.h"

namespace paceline::openai {

/// One row of a table of refused requests.
struct Refusal {
  std::string_view input;
  ErrorCode code;
  std::string_view param;
};

/// A server with the vocabulary of Qwen2.5.
inline ParseContext test_context() {
  ParseContext context;
  context.vocab_size = 151665;
  return context;
}

/// Checks that `result` is the error of the row.
template <typename T>
void expect_refused(const Result<T>& result, const Refusal& row) {
  ASSERT_FALSE(result.has_value()) << row.input;
  EXPECT_EQ(to_string(result.error().code), to_string(row.code)) << row.input;
  EXPECT_EQ(result.error().param, row.param) << row.input << "\n" << result.error().message;
  EXPECT_FALSE(result.error().message.empty()) << row.input;
}

}  // namespace paceline::openai
