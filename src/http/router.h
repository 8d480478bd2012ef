#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/http_handler.h"
#include "http/http_message.h"
#include "metrics/metric_labels.h"

namespace paceline {

/// Whose key opens a route (API.md §2, column Auth).
enum class RouteAccess { kOpen, kTenant, kAdmin, kTenantOrAdmin, kMetrics };

/// Rows of the routing table, in its order.
enum class RouteId : std::size_t {
  kChatCompletions,
  kCompletions,
  kCreateResponse,
  kResponsesWebSocket,
  kInputTokens,
  kGetResponse,
  kDeleteResponse,
  kCancelResponse,
  kModels,
  kModel,
  kTokenize,
  kDetokenize,
  kApplyTemplate,
  kHealth,
  kReady,
  kMetrics,
  kVersion,
  kAdminTenants,
  kAdminRequests,
  kAdminCancelRequest,
  kAdminReload,
  kAdminDrain,
  kWebPage,
  kWebFile,
  kCount,
};
inline constexpr std::size_t kNumRoutes = static_cast<std::size_t>(RouteId::kCount);

/// One row: what can be asked for, and by whom.
struct Route {
  RouteId id{};
  HttpMethod method = HttpMethod::kGet;
  /// Method and path; label `route` of the metrics. `{id}` stands for one segment, a final `*` for
  /// one or more.
  std::string_view label;
  RouteAccess access = RouteAccess::kTenant;
  HttpApi api = HttpApi::kOther;
  bool is_generation = false;   ///< refused while loading and draining
  bool has_small_body = false;  ///< http.max_token_body_bytes instead of max_body_bytes
  bool is_websocket = false;    ///< GET that is answered by an upgrade, so not by HEAD
};

/// The routing table, by RouteId.
[[nodiscard]] std::span<const Route> routes();
/// Labels of the table, in its order.
[[nodiscard]] std::span<const std::string_view> route_labels();

/// Where a request goes.
struct RouteMatch {
  const Route* route = nullptr;  ///< null: the path is known, the method is not
  const HttpHandler* handler = nullptr;
  std::string path_id = {};  ///< value of `{id}`
  std::string allow = {};    ///< methods of the path, for `allow`
};

/// Finds the handler of a request. Filled before the first request, then immutable; any thread.
class Router {
 public:
  /// A route without a handler does not exist for clients.
  void set_handler(RouteId id, std::unique_ptr<HttpHandler> handler);

  /// Errors: kNotFound when no route has the path.
  [[nodiscard]] Result<RouteMatch> match(const HttpRequest& request) const;

 private:
  /// Routes of administrators exist even without a handler: nobody gets past the key.
  [[nodiscard]] bool exists(const Route& route) const;

  std::array<std::unique_ptr<HttpHandler>, kNumRoutes> handlers_;
};

}  // namespace paceline
