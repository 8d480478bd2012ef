#include "http/websocket_handshake.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <string_view>

namespace paceline {
namespace {

/// Whether `text` is the base64 form of 16 bytes: 22 characters and two of padding.
bool is_websocket_key(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kNumCharacters = 22;
  return text.size() == kNumCharacters + 2 && text.substr(kNumCharacters) == "==" &&
         text.find_first_not_of(kAlphabet) == kNumCharacters;
}

/// `[::1]:8000` → `::1`, `localhost:8000` → `localhost`.
std::string_view host_name(std::string_view host) {
  if (!host.empty() && host.front() == '[') return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.rfind(':'));
}

/// Whether pages of this host are the server's own. A name that only the DNS vouches for is not: an
/// attacker's name may point here (DNS rebinding).
bool is_own_host(std::string_view host, std::span<const std::string> allowed_hosts) {
  const std::string_view name = host_name(host);
  if (equals_ignoring_case(name, "localhost")) return true;
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(name), error);
  if (!error) return true;
  return std::any_of(allowed_hosts.begin(), allowed_hosts.end(), [&](const std::string& allowed) {
    return equals_ignoring_case(host, allowed) || equals_ignoring_case(name, allowed);
  });
}

}  // namespace

Result<std::string> check_websocket_handshake(const HttpRequest& request) {
  const auto connection = request.find("connection");
  if (!request.is_websocket_upgrade() || !connection || !has_list_token(*connection, "upgrade")) {
    return fail(ErrorCode::kUpgradeRequired, "this path speaks WebSocket");
  }
  if (request.find("sec-websocket-version") != "13") {
    return fail(ErrorCode::kUpgradeRequired, "only WebSocket version 13 is served");
  }
  if (request.minor_version == 0) {
    return fail(ErrorCode::kMalformedRequest, "a WebSocket handshake needs HTTP/1.1");
  }
  const auto key = request.find("sec-websocket-key");
  if (!key || request.count("sec-websocket-key") != 1 || !is_websocket_key(*key)) {
    return fail(ErrorCode::kMalformedRequest, "sec-websocket-key must be 16 bytes in base64");
  }
  return std::string(*key);
}

Result<void> check_websocket_origin(const HttpRequest& request,
                                    std::span<const std::string> allowed_origins,
                                    std::span<const std::string> allowed_hosts) {
  const auto origin = request.find("origin");
  if (!origin) return {};
  if (request.count("origin") == 1) {
    const auto listed = std::find(allowed_origins.begin(), allowed_origins.end(), *origin);
    if (listed != allowed_origins.end()) return {};
    const std::string_view host = request.find("host").value_or("");
    for (const std::string_view scheme : {"http://", "https://"}) {
      const bool is_own = origin->substr(0, scheme.size()) == scheme &&
                          equals_ignoring_case(origin->substr(scheme.size()), host);
      if (is_own && is_own_host(host, allowed_hosts)) return {};
    }
  }
  return fail(ErrorCode::kOriginNotAllowed, "pages of this Origin may not connect");
}

}  // namespace paceline
