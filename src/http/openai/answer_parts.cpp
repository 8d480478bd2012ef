#include "http/openai/answer_parts.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/ids.h"

namespace paceline::openai {
namespace {

constexpr float kLogprobFloor = -9999.0F;

/// Three decimals are enough for milliseconds and seconds of a receipt.
double rounded(double value) { return std::round(value * 1000.0) / 1000.0; }

/// Shortest form of a float, which is shorter than that of the same double.
void write_float(JsonWriter& json, float value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  json.raw(std::string_view(buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data())));
}

void write_logprob_members(JsonWriter& json, const LogprobText& item) {
  json.string("token", item.bytes).key("logprob");
  write_logprob(json, item.logprob);
  json.key("bytes").begin_array();
  for (const char byte : item.bytes) json.integer(static_cast<unsigned char>(byte));
  json.end_array();
}

}  // namespace

std::string_view to_string(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

void write_usage(JsonWriter& json, const Usage& usage, UsageShape shape) {
  json.begin_object()
      .integer("prompt_tokens", usage.prompt_tokens)
      .integer("completion_tokens", usage.completion_tokens)
      .integer("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  json.key("prompt_tokens_details")
      .begin_object()
      .integer("cached_tokens", usage.cached_tokens)
      .end_object();
  if (shape == UsageShape::kChat) {
    json.key("completion_tokens_details")
        .begin_object()
        .integer("reasoning_tokens", 0)
        .end_object();
  }
  json.end_object();
}

void write_response_usage(JsonWriter& json, const Usage& usage) {
  json.begin_object().integer("input_tokens", usage.prompt_tokens);
  json.key("input_tokens_details")
      .begin_object()
      .integer("cached_tokens", usage.cached_tokens)
      .end_object();
  json.integer("output_tokens", usage.completion_tokens);
  json.key("output_tokens_details").begin_object().integer("reasoning_tokens", 0).end_object();
  json.integer("total_tokens", usage.prompt_tokens + usage.completion_tokens).end_object();
}

void write_receipt(JsonWriter& json, const Receipt& receipt) {
  json.begin_object()
      .number("queue_ms", rounded(receipt.queue_ms))
      .number("prefill_ms", rounded(receipt.prefill_ms))
      .number("decode_ms", rounded(receipt.decode_ms))
      .number("total_ms", rounded(receipt.total_ms))
      .number("cpu_ms", rounded(receipt.cpu_ms))
      .number("kv_block_seconds", rounded(receipt.kv_block_seconds))
      .integer("cached_tokens", receipt.cached_tokens)
      .integer("preemptions", receipt.preemptions)
      .end_object();
}

void write_token_ids(JsonWriter& json, std::span<const TokenId> ids) {
  json.begin_array();
  for (const TokenId id : ids) json.integer(raw(id));
  json.end_array();
}

void write_logprob(JsonWriter& json, float logprob) {
  const bool in_range = logprob > kLogprobFloor;  // false for NaN too
  write_float(json, in_range ? std::fmin(logprob, 0.0F) : kLogprobFloor);
}

void write_logprob_items(JsonWriter& json, std::span<const TokenLogprobText> items) {
  json.begin_array();
  for (const TokenLogprobText& item : items) {
    json.begin_object();
    write_logprob_members(json, item.chosen);
    json.key("top_logprobs").begin_array();
    for (const LogprobText& other : item.top) {
      json.begin_object();
      write_logprob_members(json, other);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace paceline::openai
