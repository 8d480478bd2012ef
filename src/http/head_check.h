#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace paceline {

struct HttpOptions;

/// Finds the end of a request head in bytes that arrive piece by piece. Each byte is looked at
/// once.
class HeadScanner {
 public:
  explicit HeadScanner(const HttpOptions& options) : options_(options) {}

  /// Returns the size of the head with its final empty line, or 0 while it is not complete. Errors:
  /// kMalformedRequest for a line end that is not CR LF, or a zero byte; kUriTooLong;
  /// kHeadersTooLarge.
  [[nodiscard]] Result<std::size_t> scan(std::string_view input);

 private:
  const HttpOptions& options_;
  std::size_t scanned_ = 0;
  std::size_t line_start_ = 0;
  std::size_t request_line_end_ = 0;  // 0: not seen
  std::size_t num_headers_ = 0;
};

/// What a head says about the length of its body.
struct BodyFraming {
  std::optional<std::uint64_t> content_length = {};
  bool is_chunked = false;
};

/// Checks the lines of a whole head for what a lenient reader would accept: folded lines, space
/// before the colon, repeated or listed Content-Length, Content-Length beside Transfer-Encoding,
/// missing or repeated Host. Errors: kMalformedRequest; kNotImplemented for a transfer coding other
/// than chunked. Source: RFC 9112 §3.2, §5, §6.
[[nodiscard]] Result<BodyFraming> check_head(std::string_view head);

}  // namespace paceline
