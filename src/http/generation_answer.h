#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "engine/request.h"
#include "http/openai/answer.h"

namespace paceline {

class GenerationStream;
class HttpExchange;
class SseWriter;

/// Gives the output of one request the form of its API. Made per request.
class AnswerShape {
 public:
  virtual ~AnswerShape() = default;
  /// Adds the stream events that an engine event makes; RequestFailed makes the error ending.
  virtual void write_events(const GenerationEvent& event, SseWriter& sse) = 0;
  /// Returns the body of an answer that is not streamed.
  [[nodiscard]] virtual std::string body(const openai::GenerationResult& result) = 0;
};

/// Sends the output of a request as it is made (API.md §3.5): head with the first event or the
/// first keep-alive, plain HTTP errors before that. A client that leaves or does not read cancels
/// the request.
[[nodiscard]] boost::asio::awaitable<void> send_streamed_answer(HttpExchange& exchange,
                                                                GenerationStream& stream,
                                                                AnswerShape& shape);

/// Sends the output of a request when it is complete. A client that leaves cancels it.
[[nodiscard]] boost::asio::awaitable<void> send_whole_answer(HttpExchange& exchange,
                                                             GenerationStream& stream,
                                                             AnswerShape& shape, int num_choices,
                                                             int num_prompts);

}  // namespace paceline
