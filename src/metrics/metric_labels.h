#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace paceline {

// Fixed label lists of API.md §9 as enums; the wire spelling of each value is in LabelValues.

/// Label `api`.
enum class Api { kChat, kCompletions, kResponses, kEmbeddings };
/// Label `transport`.
enum class Transport { kHttp, kSse, kWs };
/// Where a request is in its life; label `phase` and API.md §8.6.
enum class RequestPhase { kTokenize, kQueued, kPrefill, kDecode, kPaused, kSummary, kDone };
/// Why a request was cancelled; label `cause` of paceline_cancellations_total.
enum class CancelCause { kDisconnect, kApi, kAdmin, kDeadline, kSlowReader, kDrain };
/// Label `finished_reason` of vllm:request_success_total.
enum class FinishedReason { kStop, kLength, kAbort, kError };
/// How a request ended for its tenant; label `outcome`.
enum class RequestOutcome { kOk, kCancelled, kError, kRejected };
/// Label `kind` of token counters.
enum class TokenKind { kPrompt, kCached, kCompletion };
/// Label `kind` of paceline_step_tokens_total.
enum class StepTokenKind { kPrefill, kDecode };
/// Label `part` of paceline_step_part_seconds_total.
enum class StepPart {
  kSchedule,
  kPrepare,
  kLinear,
  kAttention,
  kLmHead,
  kGrammar,
  kSample,
  kEmit,
  kIdle
};
/// What the scheduler decided; label `decision` and API.md §8.6.
enum class SchedDecision { kAdmit, kDefer, kSkipAhead, kChunk, kPreempt, kResume, kPause, kReject };
/// Why something waits; label `reason` of paceline_requests_waiting_by_reason and API.md §8.6.
enum class WaitReason {
  kNone,
  kFairness,
  kPriority,
  kBatchFull,
  kChunkBudget,
  kKvFull,
  kTenantKvCeiling,
  kTenantConcurrency,
  kTenantRate,
  kSlowReader,
  kDeadline
};
/// Label `state` of paceline_kv_blocks.
enum class KvBlockState { kActive, kCached, kFree };
/// Label `cause` of paceline_kv_evicted_blocks_total.
enum class EvictionCause { kPoolFull, kCeiling };
/// Label `owner` of paceline_kv_evicted_blocks_total.
enum class EvictionOwner { kSame, kOther };
/// Label `reason` of paceline_requests_rejected_total.
enum class RejectReason {
  kRequests,
  kTokens,
  kConcurrency,
  kQuota,
  kQueueFull,
  kServerOverloaded,
  kDeadline,
  kDraining,
  kLoading,
  kContextLength,
  kKvCapacity
};
/// Label `class` of paceline_http_requests_total.
enum class StatusClass { k2xx, k3xx, k4xx, k5xx };
/// Label `api` of paceline_http_request_duration_seconds.
enum class HttpApi { kChat, kCompletions, kResponses, kEmbeddings, kOther };
/// Label `kind` of paceline_http_timeouts_total.
enum class HttpTimeout { kHeader, kBody, kIdle, kSlowReader };
/// Label `direction` of paceline_ws_messages_total.
enum class WsDirection { kIn, kOut };
/// Label `cause` of paceline_stored_responses_evicted_total.
enum class StoreEviction { kTtl, kCount, kBytes };
/// Label `role` of paceline_threads.
enum class ThreadRole { kCompute, kIo, kTokenize };
/// Label `result` of paceline_config_reloads_total.
enum class ReloadResult { kOk, kError };

/// Wire spelling of an enum's values, in the order of its enumerators.
template <typename Enum>
struct LabelValues;

template <>
struct LabelValues<Api> {
  static constexpr auto names =
      std::to_array<std::string_view>({"chat", "completions", "responses", "embeddings"});
};
template <>
struct LabelValues<Transport> {
  static constexpr auto names = std::to_array<std::string_view>({"http", "sse", "ws"});
};
template <>
struct LabelValues<RequestPhase> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"tokenize", "queued", "prefill", "decode", "paused", "summary", "done"});
};
template <>
struct LabelValues<CancelCause> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"disconnect", "api", "admin", "deadline", "slow_reader", "drain"});
};
template <>
struct LabelValues<FinishedReason> {
  static constexpr auto names =
      std::to_array<std::string_view>({"stop", "length", "abort", "error"});
};
template <>
struct LabelValues<RequestOutcome> {
  static constexpr auto names =
      std::to_array<std::string_view>({"ok", "cancelled", "error", "rejected"});
};
template <>
struct LabelValues<TokenKind> {
  static constexpr auto names = std::to_array<std::string_view>({"prompt", "cached", "completion"});
};
template <>
struct LabelValues<StepTokenKind> {
  static constexpr auto names = std::to_array<std::string_view>({"prefill", "decode"});
};
template <>
struct LabelValues<StepPart> {
  static constexpr auto names =
      std::to_array<std::string_view>({"schedule", "prepare", "linear", "attention", "lm_head",
                                       "grammar", "sample", "emit", "idle"});
};
template <>
struct LabelValues<SchedDecision> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"admit", "defer", "skip_ahead", "chunk", "preempt", "resume", "pause", "reject"});
};
template <>
struct LabelValues<WaitReason> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"none", "fairness", "priority", "batch_full", "chunk_budget", "kv_full", "tenant_kv_ceiling",
       "tenant_concurrency", "tenant_rate", "slow_reader", "deadline"});
};
template <>
struct LabelValues<KvBlockState> {
  static constexpr auto names = std::to_array<std::string_view>({"active", "cached", "free"});
};
template <>
struct LabelValues<EvictionCause> {
  static constexpr auto names = std::to_array<std::string_view>({"pool_full", "ceiling"});
};
template <>
struct LabelValues<EvictionOwner> {
  static constexpr auto names = std::to_array<std::string_view>({"same", "other"});
};
template <>
struct LabelValues<RejectReason> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"requests", "tokens", "concurrency", "quota", "queue_full", "server_overloaded", "deadline",
       "draining", "loading", "context_length", "kv_capacity"});
};
template <>
struct LabelValues<StatusClass> {
  static constexpr auto names = std::to_array<std::string_view>({"2xx", "3xx", "4xx", "5xx"});
};
template <>
struct LabelValues<HttpApi> {
  static constexpr auto names =
      std::to_array<std::string_view>({"chat", "completions", "responses", "embeddings", "other"});
};
template <>
struct LabelValues<HttpTimeout> {
  static constexpr auto names =
      std::to_array<std::string_view>({"header", "body", "idle", "slow_reader"});
};
template <>
struct LabelValues<WsDirection> {
  static constexpr auto names = std::to_array<std::string_view>({"in", "out"});
};
template <>
struct LabelValues<StoreEviction> {
  static constexpr auto names = std::to_array<std::string_view>({"ttl", "count", "bytes"});
};
template <>
struct LabelValues<ThreadRole> {
  static constexpr auto names = std::to_array<std::string_view>({"compute", "io", "tokenize"});
};
template <>
struct LabelValues<ReloadResult> {
  static constexpr auto names = std::to_array<std::string_view>({"ok", "error"});
};

/// Number of values of a fixed label list.
template <typename Enum>
inline constexpr std::size_t kNumLabelValues = LabelValues<Enum>::names.size();

/// Returns the wire spelling of a label value.
template <typename Enum>
constexpr std::string_view label_value(Enum value) {
  return LabelValues<Enum>::names[static_cast<std::size_t>(value)];
}

}  // namespace paceline
