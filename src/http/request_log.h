#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/request.h"
#include "http/output_intervals.h"

namespace paceline {

class Logger;

/// What the access log says about one request (API.md §10); filled as the request goes on. Fields
/// of parts that the server does not have are always null. Over HTTP there is one per request, over
/// WebSocket one per response.create.
struct RequestLog {
  std::string id;          ///< `req_…`
  std::string request_id;  ///< value of x-request-id
  std::optional<std::string> client_request_id = {};
  std::optional<std::string> object_id = {};
  std::optional<std::string> trace_id = {};
  std::optional<std::string> span_id = {};
  std::optional<std::string> parent_span_id = {};
  std::optional<std::string> tenant = {};
  std::optional<std::string> key_id = {};
  std::string_view api = "other";       ///< label of the metrics
  std::string_view transport = "http";  ///< http, sse or ws
  std::string_view route = "other";
  std::optional<std::string> stream_id = {};
  std::string peer;
  std::optional<std::string> model = {};
  int status = 0;  ///< 499 when the client left before the answer was complete
  std::optional<std::string> code = {};
  std::vector<std::optional<FinishReason>> finish_reasons = {};  ///< by choice; empty: null
  std::optional<bool> stream = {};
  std::optional<int> n = {};
  std::optional<int> priority = {};
  std::optional<int> max_tokens = {};
  std::optional<Usage> usage = {};
  std::optional<Receipt> receipt = {};
  std::optional<double> tokenize_ms = {};
  std::optional<double> ttft_ms = {};
  OutputIntervals output_intervals = {};
  std::optional<std::string> cancel_cause = {};
  std::optional<std::string> end_user = {};  ///< first 16 hex digits of a hash
  int ignored_fields = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  TimePoint started_at{};
};

/// Notes what an event of the engine says about the request; `now` is when it was read.
void note_generation_event(RequestLog& log, const GenerationEvent& event, TimePoint now);

/// Writes the one line of a request that ended at `now`.
void write_request_log(Logger& logger, const RequestLog& log, TimePoint now);

}  // namespace paceline
