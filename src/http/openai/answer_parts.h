#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/request.h"
#include "http/openai/json_writer.h"

namespace paceline::openai {

/// `stop` or `length`.
[[nodiscard]] std::string_view to_string(FinishReason reason);

/// The value of `usage` of chat (with completion_tokens_details) and completions (without).
enum class UsageShape { kChat, kCompletion };
void write_usage(JsonWriter& json, const Usage& usage, UsageShape shape);
/// The value of `usage` of a response.
void write_response_usage(JsonWriter& json, const Usage& usage);
/// The value of `paceline.receipt`; times in ms with three decimals.
void write_receipt(JsonWriter& json, const Receipt& receipt);
/// An array of ids.
void write_token_ids(JsonWriter& json, std::span<const TokenId> ids);
/// An array of `{"token","logprob","bytes","top_logprobs"}`: chat's `logprobs.content` and the
/// `logprobs` of an output_text part. API.md §3.4.
void write_logprob_items(JsonWriter& json, std::span<const TokenLogprobText> items);
/// One log-probability: at most 0, floored at -9999, which also stands for NaN.
void write_logprob(JsonWriter& json, float logprob);

}  // namespace paceline::openai
