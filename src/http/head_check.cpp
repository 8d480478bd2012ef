#include "http/head_check.h"

#include <charconv>
#include <string>
#include <utility>

#include "http/http_message.h"
#include "http/http_options.h"

namespace paceline {
namespace {

tl::unexpected<Error> malformed(std::string message) {
  return fail(ErrorCode::kMalformedRequest, std::move(message));
}

/// Takes a line up to CR LF off the front of `text`, which holds one.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 2);
  return line;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Result<std::uint64_t> parse_content_length(std::string_view value) {
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
  if (error == std::errc::result_out_of_range) return malformed("Content-Length is out of range");
  if (error != std::errc() || end != value.data() + value.size()) {
    return malformed("Content-Length must be one decimal number");
  }
  return length;
}

}  // namespace

Result<std::size_t> HeadScanner::scan(std::string_view input) {
  for (; scanned_ < input.size(); ++scanned_) {
    const char c = input[scanned_];
    const bool after_cr = scanned_ > line_start_ && input[scanned_ - 1] == '\r';
    if (c == '\0' || after_cr != (c == '\n')) {
      return malformed("lines of the request head must end with CR LF and hold no zero byte");
    }
    const std::size_t line_size = scanned_ - line_start_;
    if (request_line_end_ == 0 && line_size > options_.max_request_line_bytes + 1) {
      return fail(ErrorCode::kUriTooLong, "the request line is longer than " +
                                              std::to_string(options_.max_request_line_bytes) +
                                              " bytes");
    }
    if (request_line_end_ != 0 && scanned_ - request_line_end_ >= options_.max_header_bytes + 2) {
      return fail(
          ErrorCode::kHeadersTooLarge,
          "the headers are larger than " + std::to_string(options_.max_header_bytes) + " bytes");
    }
    if (c != '\n') continue;
    const bool is_empty_line = line_size == 1;
    line_start_ = scanned_ + 1;
    if (request_line_end_ == 0) {
      if (is_empty_line) return malformed("the request line is empty");
      request_line_end_ = line_start_;
    } else if (is_empty_line) {
      return std::exchange(scanned_, scanned_ + 1) + 1;
    } else if (++num_headers_ > options_.max_headers) {
      return fail(ErrorCode::kHeadersTooLarge,
                  "more than " + std::to_string(options_.max_headers) + " headers");
    }
  }
  return 0;
}

Result<BodyFraming> check_head(std::string_view head) {
  BodyFraming framing;
  int num_hosts = 0;
  int num_transfer_encodings = 0;
  const std::string_view request_line = take_line(head);
  const bool is_http_1_0 = request_line.ends_with(" HTTP/1.0");
  for (std::string_view line = take_line(head); !line.empty(); line = take_line(head)) {
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || name.empty() ||
        name.find_first_of(" \t") != std::string_view::npos) {
      return malformed("a header must be a name, a colon and a value on one line");
    }
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (equals_ignoring_case(name, "content-length")) {
      if (framing.content_length) return malformed("Content-Length is repeated");
      const auto length = parse_content_length(value);
      if (!length) return tl::unexpected(length.error());
      framing.content_length = *length;
    } else if (equals_ignoring_case(name, "transfer-encoding")) {
      ++num_transfer_encodings;
      if (!equals_ignoring_case(value, "chunked")) {
        return fail(ErrorCode::kNotImplemented, "the only transfer coding served is chunked");
      }
      framing.is_chunked = true;
    } else if (equals_ignoring_case(name, "host")) {
      ++num_hosts;
    }
  }
  if (num_transfer_encodings > 1) return malformed("Transfer-Encoding is repeated");
  if (framing.is_chunked && framing.content_length) {
    return malformed("Content-Length and Transfer-Encoding exclude each other");
  }
  if (framing.is_chunked && is_http_1_0) return malformed("HTTP/1.0 has no chunked coding");
  if (num_hosts > 1 || (num_hosts == 0 && !is_http_1_0)) {
    return malformed("exactly one Host header is required");
  }
  return framing;
}

}  // namespace paceline
