#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/openai/field_reader.h"
#include "http/openai/parse_context.h"
#include "sampling/sampling_params.h"

namespace paceline::openai {

enum class ServiceTier { kDefault, kFlex, kPriority };

/// `default`, `flex` or `priority`.
[[nodiscard]] std::string_view to_string(ServiceTier tier);

/// Unknown top-level fields of a request: they have no effect and are named in the answer.
struct IgnoredFields {
  std::vector<std::string> names = {};  ///< the first 16
  std::size_t count = 0;                ///< all of them
};

/// Fields that chat, completions and responses have in common (API.md §3.1), checked.
struct GenerationFields {
  std::string model;
  SamplingParams sampling;
  std::optional<int> max_tokens = {};  ///< asked cap per choice; absent: to the end of the context
  std::optional<int> priority = {};    ///< explicit `priority`
  ServiceTier service_tier = ServiceTier::kDefault;
  std::optional<std::string> user = {};
  std::optional<std::string> safety_identifier = {};
  std::optional<std::string> prompt_cache_key = {};
  std::string cache_salt = {};
  std::vector<std::pair<std::string, std::string>> metadata = {};
  bool return_token_ids = false;
  bool include_receipt = false;
  std::optional<std::chrono::milliseconds> timeout = {};   ///< `timeout_ms`
  std::optional<std::chrono::milliseconds> slo_ttft = {};  ///< `slo_ttft_ms`
  IgnoredFields ignored = {};

  /// Scheduling priority: the explicit one, else the service tier's (flex is 100, priority is
  /// `priority_cap`, the best the tenant may use), else 0.
  [[nodiscard]] int effective_priority(int priority_cap) const;
};

/// `stream` and `stream_options` of chat and completions.
struct StreamFields {
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage_stats = false;
};

/// Reads what all three requests share. `n`, logprobs and the caps are the caller's: not all have
/// them, or under other names.
[[nodiscard]] GenerationFields read_generation_fields(FieldReader& reader,
                                                      const ParseContext& context);
/// Reads `stream` and `stream_options`; `include_receipt` implies include_usage in a stream.
[[nodiscard]] StreamFields read_stream_fields(FieldReader& reader, bool include_receipt);
/// Reads a token cap ≥ `min`; what does not fit an int is far above any context and becomes the
/// largest int.
[[nodiscard]] std::optional<int> read_token_cap(FieldReader& reader, std::string_view name,
                                                int min);
/// Refuses `min_tokens` above the asked cap.
void check_min_tokens(FieldReader& reader, const GenerationFields& fields);
/// Collects unread top-level fields, or refuses them where the server is strict.
[[nodiscard]] IgnoredFields take_ignored(FieldReader& reader, const ParseContext& context);
/// Value of the header `x-paceline-ignored`; empty when nothing was ignored.
[[nodiscard]] std::string ignored_header(const IgnoredFields& ignored);

}  // namespace paceline::openai
