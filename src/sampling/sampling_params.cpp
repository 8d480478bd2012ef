#include "sampling/sampling_params.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace paceline {
namespace {

constexpr std::size_t kMaxBiases = 1024;
constexpr std::size_t kMaxStops = 4;
constexpr std::size_t kMaxStopBytes = 16384;
constexpr std::size_t kMaxStopTokenIds = 64;
constexpr int kMaxChoices = 128;
constexpr int kMaxTopLogprobs = 20;

std::string to_text(double value) {
  std::array<char, 32> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), "%.6g", value);
  return {buffer.data(), static_cast<std::size_t>(length)};
}

tl::unexpected<Error> invalid(const char* param, std::string message) {
  return fail(ErrorCode::kInvalidValue, std::move(message), param);
}

// Range of a numeric field, both ends included.
struct Range {
  const char* param;
  double value;
  double low;
  double high;
};

Result<void> check_ranges(const SamplingParams& p) {
  const std::array ranges{
      Range{"temperature", p.temperature, 0, 2},
      Range{"top_p", p.top_p, 0, 1},
      Range{"min_p", p.min_p, 0, 1},
      Range{"presence_penalty", p.presence_penalty, -2, 2},
      Range{"frequency_penalty", p.frequency_penalty, -2, 2},
      Range{"n", static_cast<double>(p.n), 1, kMaxChoices},
      Range{"top_logprobs", static_cast<double>(p.top_logprobs), 0, kMaxTopLogprobs},
  };
  for (const Range& r : ranges) {
    if (!(r.value >= r.low && r.value <= r.high)) {  // also refuses NaN
      return invalid(r.param, std::string(r.param) + " must be between " + to_text(r.low) +
                                  " and " + to_text(r.high) + ", got " + to_text(r.value));
    }
  }
  if (!(p.repetition_penalty > 0 && p.repetition_penalty <= 10)) {
    return invalid("repetition_penalty", "repetition_penalty must be above 0 and at most 10, got " +
                                             to_text(p.repetition_penalty));
  }
  if (p.top_k < -1) {
    return invalid("top_k", "top_k must be at least -1, got " + to_text(p.top_k));
  }
  if (p.min_tokens < 0) {
    return invalid("min_tokens", "min_tokens must be at least 0, got " + to_text(p.min_tokens));
  }
  if (p.top_logprobs > 0 && !p.logprobs) {
    return invalid("top_logprobs", "top_logprobs needs logprobs to be true");
  }
  return {};
}

Result<void> check_logit_bias(const SamplingParams& p, int vocab_size) {
  if (p.logit_bias.size() > kMaxBiases) {
    return invalid("logit_bias", "logit_bias must have at most 1024 entries, got " +
                                     std::to_string(p.logit_bias.size()));
  }
  std::vector<TokenId> ids;
  ids.reserve(p.logit_bias.size());
  for (const auto& [id, bias] : p.logit_bias) {
    if (raw(id) < 0 || raw(id) >= vocab_size) {
      return invalid("logit_bias", "logit_bias names token " + std::to_string(raw(id)) +
                                       ", which the model does not have");
    }
    if (!(bias >= -100 && bias <= 100)) {
      return invalid("logit_bias",
                     "logit_bias values must be between -100 and 100, got " + to_text(bias));
    }
    ids.push_back(id);
  }
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice != ids.end()) {
    return invalid("logit_bias",
                   "logit_bias names token " + std::to_string(raw(*twice)) + " more than once");
  }
  return {};
}

Result<void> check_stops(const SamplingParams& p, int vocab_size) {
  if (p.stop.size() > kMaxStops) {
    return invalid("stop",
                   "stop must have at most 4 strings, got " + std::to_string(p.stop.size()));
  }
  for (const std::string& text : p.stop) {
    if (text.empty()) return invalid("stop", "stop strings must not be empty");
    if (text.size() > kMaxStopBytes) {
      return invalid(
          "stop", "stop strings must have at most 16384 bytes, got " + std::to_string(text.size()));
    }
  }
  if (p.stop_token_ids.size() > kMaxStopTokenIds) {
    return invalid("stop_token_ids", "stop_token_ids must have at most 64 ids, got " +
                                         std::to_string(p.stop_token_ids.size()));
  }
  for (const TokenId id : p.stop_token_ids) {
    if (raw(id) < 0 || raw(id) >= vocab_size) {
      return invalid("stop_token_ids", "stop_token_ids names token " + std::to_string(raw(id)) +
                                           ", which the model does not have");
    }
  }
  return {};
}

}  // namespace

Result<void> validate(const SamplingParams& params, int vocab_size) {
  if (auto ok = check_ranges(params); !ok) return ok;
  if (auto ok = check_logit_bias(params, vocab_size); !ok) return ok;
  return check_stops(params, vocab_size);
}

}  // namespace paceline
