#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "chat/chat_template.h"
#include "chat/message.h"
#include "engine/request.h"
#include "http/service_state.h"

namespace paceline {

class Connection;
class GenerationStream;
struct ServerContext;

/// A conversation that the model's template renders.
struct ConversationPrompt {
  std::vector<Message> messages;
  ChatTemplateOptions options = {};
};
/// A text whose special tokens are parsed (an empty one becomes one end-of-text token), or token
/// ids.
using RawPrompt = std::variant<std::string, std::vector<TokenId>>;
using PromptSource = std::variant<ConversationPrompt, std::vector<RawPrompt>>;

/// What a client asked for, parsed and validated but not yet tokenised.
struct GenerationJob {
  TenantId tenant{};
  Api api = Api::kChat;
  Transport transport = Transport::kHttp;
  PromptSource prompt;
  /// Field that holds the prompt, for errors about its length: `messages`, `prompt` or `input`.
  std::string prompt_param = "messages";
  SamplingParams sampling = {};
  /// As asked; absent: to the end of the context. 0 computes the prompt only.
  std::optional<int> max_tokens = {};
  int priority = 0;
  bool prompt_logprobs = false;
  std::string cache_salt = {};
  TimePoint accepted_at{};
  /// Total budget from acceptance.
  std::optional<std::chrono::milliseconds> timeout = {};
};

/// A job that can be handed to the engine: tokenised, within the context, caps made effective.
struct PreparedGeneration {
  std::shared_ptr<const ServedModel> model;
  GenerationRequest request;
  double tokenize_ms = 0;
  [[nodiscard]] int num_prompt_tokens() const;
};

/// Renders and tokenises on a worker and checks the length. Errors: kInvalidValue for a
/// conversation the template cannot express, kContextLengthExceeded, kKvCapacityExceeded (param =
/// job.prompt_param), kServerOverloaded when too many requests are being prepared.
[[nodiscard]] boost::asio::awaitable<Result<PreparedGeneration>> prepare_generation(
    ServerContext& context, std::shared_ptr<const ServedModel> model, GenerationJob job);

/// Hands a prepared request to the engine; its events are read on the connection's strand. Errors:
/// kServerOverloaded, kServerDraining.
[[nodiscard]] Result<std::unique_ptr<GenerationStream>> start_generation(
    ServerContext& context, PreparedGeneration prepared, Connection& connection);

}  // namespace paceline
