#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace paceline {

/// Where a request goes, without scheme, authority and query.
struct RequestTarget {
  /// Segments between slashes, each percent-decoded once, so that an encoded slash does not
  /// separate: `/` is {""}, `/a/` is {"a", ""}. Empty for the forms without a path.
  std::vector<std::string> path = {};
  bool is_asterisk = false;  ///< `OPTIONS *`
};

/// Splits a request target in origin form, absolute form or `*`. Errors: kMalformedRequest for
/// another form or a bad percent escape. Source: RFC 9112 §3.2.
[[nodiscard]] Result<RequestTarget> parse_request_target(std::string_view target);

}  // namespace paceline
