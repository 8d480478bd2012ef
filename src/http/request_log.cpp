#include "http/request_log.h"

#include "base/logging.h"

namespace paceline {
namespace {

LogLevel level_of(int status) { return status >= 500 ? LogLevel::kWarn : LogLevel::kInfo; }

/// `["stop",null]`, or null when the request never generated.
std::string finish_reasons_json(const RequestLog& log) {
  if (log.finish_reasons.empty()) return "null";
  std::string json = "[";
  for (const auto& reason : log.finish_reasons) {
    if (json.size() > 1) json += ',';
    if (!reason) {
      json += "null";
    } else {
      json += *reason == FinishReason::kStop ? "\"stop\"" : "\"length\"";
    }
  }
  return json + "]";
}

void add_origin(LogRecord& record, const RequestLog& log) {
  record.add("id", log.id)
      .add("request_id", log.request_id)
      .add("client_request_id", log.client_request_id)
      .add("object_id", log.object_id)
      .add("trace_id", log.trace_id)
      .add("span_id", log.span_id)
      .add("parent_span_id", log.parent_span_id)
      .add("tenant", log.tenant)
      .add("key_id", log.key_id)
      .add("api", log.api)
      .add("transport", log.transport)
      .add("route", log.route)
      .add("stream_id", log.stream_id)
      .add("peer", log.peer)
      .add("model", log.model);
}

void add_outcome(LogRecord& record, const RequestLog& log) {
  record.add("status", log.status)
      .add("code", log.code)
      .add_json("finish_reason", finish_reasons_json(log))
      .add("stream", log.stream)
      .add("n", log.n)
      .add("priority", log.priority)
      .add("max_tokens", log.max_tokens);
}

void add_work(LogRecord& record, const RequestLog& log, TimePoint now) {
  const auto usage = [&log](int Usage::*field) {
    return log.usage ? std::optional<int>((*log.usage).*field) : std::nullopt;
  };
  const auto receipt = [&log](double Receipt::*field) {
    return log.receipt ? std::optional<double>((*log.receipt).*field) : std::nullopt;
  };
  record.add("prompt_tokens", usage(&Usage::prompt_tokens))
      .add("cached_tokens", usage(&Usage::cached_tokens))
      .add("completion_tokens", usage(&Usage::completion_tokens))
      .add("queue_ms", receipt(&Receipt::queue_ms))
      .add("tokenize_ms", log.tokenize_ms)
      .add("prefill_ms", receipt(&Receipt::prefill_ms))
      .add("decode_ms", receipt(&Receipt::decode_ms))
      .add("total_ms", to_ms(now - log.started_at))
      .add("ttft_ms", log.ttft_ms)
      .add("predicted_ttft_ms", nullptr)
      .add("itl_p50_ms", log.output_intervals.median_ms())
      .add("itl_max_ms", log.output_intervals.max_ms())
      .add("cpu_ms", receipt(&Receipt::cpu_ms))
      .add("kv_block_seconds", receipt(&Receipt::kv_block_seconds))
      .add("preemptions", log.receipt ? std::optional<int>(log.receipt->preemptions) : std::nullopt)
      .add("kv_blocks_max", nullptr)
      .add_json("wait_reasons", "null")
      .add("cancel_phase", nullptr)
      .add("cancel_cause", log.cancel_cause)
      .add("truncation", nullptr)
      .add("dropped_turns", nullptr)
      .add("summary", nullptr)
      .add("end_user", log.end_user)
      .add("ignored_fields", log.ignored_fields)
      .add("bytes_in", static_cast<std::int64_t>(log.bytes_in))
      .add("bytes_out", static_cast<std::int64_t>(log.bytes_out));
}

}  // namespace

void note_generation_event(RequestLog& log, const GenerationEvent& event, TimePoint now) {
  if (const auto* started = std::get_if<RequestStarted>(&event)) {
    log.usage = started->usage;
  } else if (const auto* delta = std::get_if<ChoiceDelta>(&event)) {
    log.output_intervals.note(delta->index, now);
    if (!log.ttft_ms) log.ttft_ms = to_ms(now - log.started_at);
  } else if (const auto* choice = std::get_if<ChoiceFinished>(&event)) {
    const auto index = static_cast<std::size_t>(choice->index);
    if (index < log.finish_reasons.size()) log.finish_reasons[index] = choice->reason;
  } else if (const auto* finished = std::get_if<RequestFinished>(&event)) {
    log.usage = finished->usage;
    log.receipt = finished->receipt;
  } else if (const auto* failed = std::get_if<RequestFailed>(&event)) {
    log.usage = failed->usage;
    log.receipt = failed->receipt;
    log.code = std::string(to_string(failed->error.code));
  }
}

void write_request_log(Logger& logger, const RequestLog& log, TimePoint now) {
  LogRecord record(level_of(log.status), "request");
  add_origin(record, log);
  add_outcome(record, log);
  add_work(record, log, now);
  logger.write(record);
}

}  // namespace paceline
