#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "http/http_message.h"

namespace paceline {

struct HttpOptions;

/// Reads one request out of a connection's bytes, strictly (API.md §1.5): what two readers could
/// understand differently is refused. Knows nothing of sockets and time. One connection's strand.
class RequestParser {
 public:
  explicit RequestParser(const HttpOptions& options);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Looks for a whole head at the front of `input`, which may only grow between calls. Returns its
  /// size, or 0 while it is not complete. Errors: kUriTooLong, kHeadersTooLarge, kMalformedRequest,
  /// kNotImplemented for a transfer coding.
  [[nodiscard]] Result<std::size_t> parse_head(std::string_view input);

  // After the head:
  [[nodiscard]] HttpRequest take_request();
  [[nodiscard]] bool keep_alive() const;
  /// Declared size of the body; absent when it is chunked.
  [[nodiscard]] std::optional<std::uint64_t> content_length() const;
  [[nodiscard]] bool is_body_complete() const;

  /// Decodes body bytes at the front of `input` and appends them to `body`; returns how many were
  /// used, 0 when more are needed. Errors: kMalformedRequest for bad chunks.
  [[nodiscard]] Result<std::size_t> parse_body(std::string_view input, std::string& body);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
