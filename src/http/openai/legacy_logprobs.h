#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/request.h"

namespace paceline::openai {

/// Legacy `logprobs` of one choice, built up token by token: tokens, token_logprobs, top_logprobs
/// and text_offset. One thread.
class LegacyLogprobs {
 public:
  /// The first token of an echoed prompt has no log-probability.
  void add_unscored(std::string_view bytes);
  void add(const TokenLogprobText& token);
  /// Appends the object with what was added since the last call; offsets go on counting.
  void flush(std::string& out);
  [[nodiscard]] bool is_empty() const { return tokens_.empty(); }

 private:
  void advance(std::string_view bytes);

  // the elements of the four arrays, as JSON
  std::string tokens_;
  std::string token_logprobs_;
  std::string top_logprobs_;
  std::string text_offset_;
  std::int64_t offset_ = 0;  // code points so far
};

}  // namespace paceline::openai
