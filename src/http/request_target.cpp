#include "http/request_target.h"

#include "http/http_message.h"

namespace paceline {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return fail(ErrorCode::kMalformedRequest, "the path has a bad percent escape");
    }
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

/// Removes `http://authority` of the absolute form; what is left begins with a slash or is empty.
std::string_view without_authority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() < scheme.size()) continue;
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t path = target.find_first_of("/?#", scheme.size());
    if (path == std::string_view::npos || target[path] != '/') return "/";
    return target.substr(path);
  }
  return target;
}

}  // namespace

Result<RequestTarget> parse_request_target(std::string_view target) {
  RequestTarget result;
  if (target == "*") {
    result.is_asterisk = true;
    return result;
  }
  std::string_view rest = without_authority(target);
  if (!rest.starts_with('/')) {
    return fail(ErrorCode::kMalformedRequest, "the request target must be a path");
  }
  rest = rest.substr(1, rest.find_first_of("?#") - 1);
  while (true) {
    const std::size_t slash = rest.find('/');
    auto segment = percent_decoded(rest.substr(0, slash));
    if (!segment) return tl::unexpected(segment.error());
    result.path.push_back(std::move(*segment));
    if (slash == std::string_view::npos) return result;
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace paceline
