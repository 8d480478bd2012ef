#include "http/router.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace paceline {
namespace {

using enum RouteAccess;

constexpr HttpMethod kGet = HttpMethod::kGet;
constexpr HttpMethod kPost = HttpMethod::kPost;
constexpr HttpMethod kDelete = HttpMethod::kDelete;
constexpr HttpApi kOther = HttpApi::kOther;

// clang-format off
constexpr std::array<Route, kNumRoutes> kRoutes{{
    {RouteId::kChatCompletions, kPost, "POST /v1/chat/completions", kTenant, HttpApi::kChat, true},
    {RouteId::kCompletions, kPost, "POST /v1/completions", kTenant, HttpApi::kCompletions, true},
    {RouteId::kCreateResponse, kPost, "POST /v1/responses", kTenant, HttpApi::kResponses, true},
    {RouteId::kResponsesWebSocket, kGet, "GET /v1/responses", kTenant, HttpApi::kResponses, false, false, true},
    {RouteId::kInputTokens, kPost, "POST /v1/responses/input_tokens", kTenant},
    {RouteId::kGetResponse, kGet, "GET /v1/responses/{id}", kTenant},
    {RouteId::kDeleteResponse, kDelete, "DELETE /v1/responses/{id}", kTenant},
    {RouteId::kCancelResponse, kPost, "POST /v1/responses/{id}/cancel", kTenant},
    {RouteId::kModels, kGet, "GET /v1/models", kTenant},
    {RouteId::kModel, kGet, "GET /v1/models/{id}", kTenant},
    {RouteId::kTokenize, kPost, "POST /tokenize", kTenant, kOther, false, true},
    {RouteId::kDetokenize, kPost, "POST /detokenize", kTenant, kOther, false, true},
    {RouteId::kApplyTemplate, kPost, "POST /apply-template", kTenant, kOther, false, true},
    {RouteId::kHealth, kGet, "GET /health", kOpen},
    {RouteId::kReady, kGet, "GET /ready", kOpen},
    {RouteId::kMetrics, kGet, "GET /metrics", RouteAccess::kMetrics},
    {RouteId::kVersion, kGet, "GET /version", kTenantOrAdmin},
    {RouteId::kAdminTenants, kGet, "GET /admin/tenants", kAdmin},
    {RouteId::kAdminRequests, kGet, "GET /admin/requests", kAdmin},
    {RouteId::kAdminCancelRequest, kDelete, "DELETE /admin/requests/{id}", kAdmin},
    {RouteId::kAdminReload, kPost, "POST /admin/reload", kAdmin},
    {RouteId::kAdminDrain, kPost, "POST /admin/drain", kAdmin},
    {RouteId::kWebPage, kGet, "GET /", kOpen},
    {RouteId::kWebFile, kGet, "GET /ui/*", kOpen},
}};
// clang-format on

constexpr bool is_in_id_order() {
  for (std::size_t i = 0; i < kRoutes.size(); ++i) {
    if (static_cast<std::size_t>(kRoutes[i].id) != i) return false;
  }
  return true;
}
static_assert(is_in_id_order());

constexpr auto kLabels = [] {
  std::array<std::string_view, kNumRoutes> labels;
  for (std::size_t i = 0; i < kNumRoutes; ++i) labels[i] = kRoutes[i].label;
  return labels;
}();

struct PathMatch {
  bool matches = false;
  std::string id = {};
};

/// Compares a path with the part of a label after the method.
PathMatch match_path(std::string_view label, const std::vector<std::string>& path) {
  std::string_view pattern = label.substr(label.find('/') + 1);
  PathMatch result;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::size_t slash = pattern.find('/');
    const std::string_view segment = pattern.substr(0, slash);
    if (segment == "*") {
      result.matches = true;
      return result;
    }
    if (segment == "{id}") {
      if (path[i].empty()) return {};
      result.id = path[i];
    } else if (segment != path[i]) {
      return {};
    }
    if (slash == std::string_view::npos) {
      result.matches = i + 1 == path.size();
      return result;
    }
    pattern.remove_prefix(slash + 1);
  }
  return {};
}

/// Whether a request with `method` is answered by the route. HEAD is a GET without a body.
bool accepts(const Route& route, HttpMethod method) {
  if (method == HttpMethod::kHead) return route.method == kGet && !route.is_websocket;
  return route.method == method;
}

void append_allowed(std::string& allow, std::string_view method) {
  if (!allow.empty()) allow += ", ";
  allow += method;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }
std::span<const std::string_view> route_labels() { return kLabels; }

void Router::set_handler(RouteId id, std::unique_ptr<HttpHandler> handler) {
  CHECK(handler != nullptr);
  handlers_[static_cast<std::size_t>(id)] = std::move(handler);
}

bool Router::exists(const Route& route) const {
  return handlers_[static_cast<std::size_t>(route.id)] != nullptr ||
         route.access == RouteAccess::kAdmin;
}

Result<RouteMatch> Router::match(const HttpRequest& request) const {
  RouteMatch result;
  bool has_head = false;
  for (std::size_t i = 0; i < kNumRoutes; ++i) {
    const Route& route = kRoutes[i];
    if (!exists(route)) continue;
    PathMatch path = match_path(route.label, request.path);
    if (!path.matches) continue;
    append_allowed(result.allow, route.label.substr(0, route.label.find(' ')));
    has_head = has_head || accepts(route, HttpMethod::kHead);
    if (!result.route && accepts(route, request.method)) {
      result.route = &route;
      result.handler = handlers_[i].get();
      result.path_id = std::move(path.id);
    }
  }
  if (result.allow.empty()) return fail(ErrorCode::kNotFound, "there is no such path");
  if (has_head) append_allowed(result.allow, "HEAD");
  append_allowed(result.allow, "OPTIONS");
  return result;
}

}  // namespace paceline
