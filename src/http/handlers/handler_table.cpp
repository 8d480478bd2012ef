#include "http/handlers/handler_table.h"

#include <memory>

#include "http/handlers/chat_completions.h"
#include "http/handlers/completions.h"
#include "http/handlers/health.h"
#include "http/handlers/metrics.h"
#include "http/handlers/models.h"
#include "http/handlers/responses.h"
#include "http/handlers/responses_websocket.h"
#include "http/handlers/tokenize.h"
#include "http/handlers/version.h"
#include "http/handlers/web_page.h"
#include "http/http_options.h"
#include "http/router.h"

namespace paceline {

void install_handlers(Router& router, const HttpOptions& options) {
  router.set_handler(RouteId::kChatCompletions, std::make_unique<ChatCompletionsHandler>());
  router.set_handler(RouteId::kCompletions, std::make_unique<CompletionsHandler>());
  router.set_handler(RouteId::kCreateResponse, std::make_unique<CreateResponseHandler>());
  router.set_handler(RouteId::kResponsesWebSocket, std::make_unique<ResponsesWebsocketHandler>());
  router.set_handler(RouteId::kInputTokens, std::make_unique<InputTokensHandler>());
  router.set_handler(RouteId::kGetResponse, std::make_unique<GetResponseHandler>());
  router.set_handler(RouteId::kDeleteResponse, std::make_unique<DeleteResponseHandler>());
  router.set_handler(RouteId::kCancelResponse, std::make_unique<CancelResponseHandler>());
  router.set_handler(RouteId::kModels, std::make_unique<ModelsHandler>());
  router.set_handler(RouteId::kModel, std::make_unique<ModelHandler>());
  router.set_handler(RouteId::kTokenize, std::make_unique<TokenizeHandler>());
  router.set_handler(RouteId::kDetokenize, std::make_unique<DetokenizeHandler>());
  router.set_handler(RouteId::kApplyTemplate, std::make_unique<ApplyTemplateHandler>());
  router.set_handler(RouteId::kHealth, std::make_unique<HealthHandler>());
  router.set_handler(RouteId::kReady, std::make_unique<ReadyHandler>());
  router.set_handler(RouteId::kMetrics, std::make_unique<MetricsHandler>());
  router.set_handler(RouteId::kVersion, std::make_unique<VersionHandler>());
  if (options.ui_enabled) {
    router.set_handler(RouteId::kWebPage, std::make_unique<WebPageHandler>());
    router.set_handler(RouteId::kWebFile, std::make_unique<WebPageHandler>());
  }
}

}  // namespace paceline
