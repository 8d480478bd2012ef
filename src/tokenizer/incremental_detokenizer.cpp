#include "tokenizer/incremental_detokenizer.h"

#include <string_view>
#include <utility>

#include "base/utf8.h"

namespace paceline {

std::string IncrementalDetokenizer::append(TokenId id) {
  if (skip_control_ && tokenizer_.is_control(id)) return {};
  pending_ += tokenizer_.token_bytes(id);
  const std::size_t length = complete_utf8_length(pending_);
  std::string text = to_lossy_utf8(std::string_view(pending_).substr(0, length));
  pending_.erase(0, length);
  return text;
}

std::string IncrementalDetokenizer::flush() {
  return to_lossy_utf8(std::exchange(pending_, std::string()));
}

}  // namespace paceline
