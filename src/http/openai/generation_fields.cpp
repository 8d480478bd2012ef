#include "http/openai/generation_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace paceline::openai {
namespace {

constexpr std::size_t kMaxShownIgnored = 16;
constexpr std::size_t kMaxIgnoredNameLength = 64;
constexpr std::size_t kMaxLabelBytes = 512;  // user, safety_identifier, prompt_cache_key

int to_int(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, std::numeric_limits<int>::min(),
                                                   std::numeric_limits<int>::max()));
}

/// A token id written as a decimal number without leading zeros; nothing when it is not one of the
/// vocabulary.
std::optional<TokenId> parse_token_id(std::string_view text, int vocab_size) {
  const bool canonical = text == "0" || (!text.empty() && text[0] >= '1' && text[0] <= '9');
  std::int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (!canonical || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (id >= vocab_size) return std::nullopt;
  return TokenId{id};
}

void read_logit_bias(FieldReader& reader, int vocab_size, SamplingParams& sampling) {
  constexpr std::size_t kMaxEntries = 1024;
  const auto bias = reader.object("logit_bias");
  if (!bias) return;
  const auto refuse = [&](ErrorCode code, std::string message) {
    reader.fail(code, "logit_bias", std::move(message));
  };
  if (bias->size() > kMaxEntries) {
    return refuse(ErrorCode::kInvalidValue,
                  "logit_bias must have at most " + std::to_string(kMaxEntries) + " entries");
  }
  sampling.logit_bias.clear();
  for (const auto& [key, value] : bias->members()) {
    const auto id = parse_token_id(key, vocab_size);
    if (!id) {
      return refuse(
          ErrorCode::kInvalidValue,
          "logit_bias keys must be ids of the vocabulary, 0 to " + std::to_string(vocab_size - 1));
    }
    const std::string entry = "logit_bias of id " + std::string(key);
    if (!value.is_number()) {
      return refuse(ErrorCode::kInvalidType,
                    entry + " must be a number, got " + std::string(type_name(value.kind())));
    }
    const auto amount = value.to_double();
    if (!amount || *amount < -100 || *amount > 100) {
      return refuse(ErrorCode::kInvalidValue, entry + " must be between -100 and 100");
    }
    sampling.logit_bias.emplace_back(*id, static_cast<float>(*amount));
  }
}

void read_stop(FieldReader& reader, SamplingParams& sampling) {
  constexpr std::size_t kMaxTexts = 4;
  constexpr std::size_t kMaxBytes = 16384;
  const auto stop = reader.value("stop");
  if (!stop) return;
  const auto refuse = [&](ErrorCode code, std::string message) {
    reader.fail(code, "stop", std::move(message));
  };
  sampling.stop.clear();
  const auto add = [&](JsonValue text) {
    if (!text.is_string()) {
      return refuse(ErrorCode::kInvalidType, "stop must be a string or an array of strings");
    }
    if (text.text().empty() || text.text().size() > kMaxBytes) {
      return refuse(ErrorCode::kInvalidValue, "every stop text must have between 1 and " +
                                                  std::to_string(kMaxBytes) + " bytes");
    }
    sampling.stop.emplace_back(text.text());
  };
  if (!stop->is_array()) return add(*stop);
  if (stop->size() > kMaxTexts) {
    return refuse(ErrorCode::kInvalidValue,
                  "stop must have at most 4 texts, got " + std::to_string(stop->size()));
  }
  for (const JsonValue text : stop->elements()) add(text);
}

void read_stop_token_ids(FieldReader& reader, int vocab_size, SamplingParams& sampling) {
  const auto ids = reader.array("stop_token_ids", 0, 64);
  if (!ids) return;
  sampling.stop_token_ids.clear();
  for (const JsonValue element : ids->elements()) {
    const auto id = element.is_number() ? element.to_int64() : std::nullopt;
    if (!id) {
      return reader.fail(ErrorCode::kInvalidType, "stop_token_ids",
                         "stop_token_ids must be integers");
    }
    if (*id < 0 || *id >= vocab_size) {
      return reader.fail(ErrorCode::kInvalidValue, "stop_token_ids",
                         "stop_token_ids must be ids of the vocabulary, 0 to " +
                             std::to_string(vocab_size - 1) + ", got " + std::to_string(*id));
    }
    sampling.stop_token_ids.push_back(TokenId{static_cast<std::int32_t>(*id)});
  }
}

void read_sampling(FieldReader& reader, const ParseContext& context, SamplingParams& sampling) {
  const auto read = [&](std::string_view name, double min, double max, double& target) {
    target = reader.number(name, min, max).value_or(target);
  };
  read("temperature", 0, 2, sampling.temperature);
  read("top_p", 0, 1, sampling.top_p);
  read("min_p", 0, 1, sampling.min_p);
  read("presence_penalty", -2, 2, sampling.presence_penalty);
  read("frequency_penalty", -2, 2, sampling.frequency_penalty);
  read("repetition_penalty", 0, 10, sampling.repetition_penalty);
  if (sampling.repetition_penalty == 0) {
    reader.fail(ErrorCode::kInvalidValue, "repetition_penalty",
                "repetition_penalty must be above 0");
  }
  sampling.top_k = to_int(reader.integer("top_k", -1).value_or(sampling.top_k));
  if (const auto seed = reader.integer("seed")) sampling.seed = *seed;
  sampling.min_tokens = to_int(reader.integer("min_tokens", 0).value_or(sampling.min_tokens));
  sampling.ignore_eos = reader.boolean("ignore_eos").value_or(sampling.ignore_eos);
  read_logit_bias(reader, context.vocab_size, sampling);
  read_stop(reader, sampling);
  read_stop_token_ids(reader, context.vocab_size, sampling);
}

void read_metadata(FieldReader& reader, GenerationFields& fields) {
  constexpr std::size_t kMaxPairs = 16;
  constexpr std::size_t kMaxKeyBytes = 64;
  constexpr std::size_t kMaxValueBytes = 512;
  const auto metadata = reader.object("metadata");
  if (!metadata) return;
  const auto refuse = [&](ErrorCode code, std::string message) {
    reader.fail(code, "metadata", std::move(message));
  };
  if (metadata->size() > kMaxPairs) {
    return refuse(ErrorCode::kInvalidValue,
                  "metadata must have at most 16 pairs, got " + std::to_string(metadata->size()));
  }
  for (const auto& [key, value] : metadata->members()) {
    if (!value.is_string()) {
      return refuse(ErrorCode::kInvalidType, "metadata values must be strings");
    }
    if (key.size() > kMaxKeyBytes || value.text().size() > kMaxValueBytes) {
      return refuse(ErrorCode::kInvalidValue,
                    "metadata keys have at most 64 bytes and values at most 512");
    }
    fields.metadata.emplace_back(key, value.text());
  }
}

std::optional<std::chrono::milliseconds> read_time_limit(FieldReader& reader,
                                                         std::string_view name) {
  constexpr std::int64_t kHourMs = 3'600'000;
  const auto ms = reader.integer(name, 1, kHourMs);
  if (!ms) return std::nullopt;
  return std::chrono::milliseconds(*ms);
}

void append_encoded(std::string& out, std::string_view name) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const std::size_t limit = out.size() + kMaxIgnoredNameLength;
  for (const char c : name) {
    const bool plain = kPlain.find(c) != std::string_view::npos;
    if (out.size() + (plain ? 1 : 3) > limit) return;
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
}

}  // namespace

std::string_view to_string(ServiceTier tier) {
  switch (tier) {
    case ServiceTier::kDefault:
      return "default";
    case ServiceTier::kFlex:
      return "flex";
    case ServiceTier::kPriority:
      return "priority";
  }
  return "default";
}

int GenerationFields::effective_priority(int priority_cap) const {
  constexpr int kFlexPriority = 100;
  if (priority) return *priority;
  if (service_tier == ServiceTier::kFlex) return kFlexPriority;
  if (service_tier == ServiceTier::kPriority) return priority_cap;
  return 0;
}

GenerationFields read_generation_fields(FieldReader& reader, const ParseContext& context) {
  GenerationFields fields;
  fields.model = reader.required_string("model");
  fields.sampling = context.default_sampling;
  read_sampling(reader, context, fields.sampling);

  if (const auto priority = reader.integer("priority", -100, 100)) {
    fields.priority = static_cast<int>(*priority);
  }
  constexpr std::array<std::string_view, 4> kTiers{"auto", "default", "flex", "priority"};
  constexpr std::array<ServiceTier, 4> kTierValues{ServiceTier::kDefault, ServiceTier::kDefault,
                                                   ServiceTier::kFlex, ServiceTier::kPriority};
  fields.service_tier = kTierValues[reader.choice("service_tier", kTiers).value_or(0)];

  fields.user = reader.string("user", 0, kMaxLabelBytes);
  fields.safety_identifier = reader.string("safety_identifier", 0, kMaxLabelBytes);
  fields.prompt_cache_key = reader.string("prompt_cache_key", 0, kMaxLabelBytes);
  fields.cache_salt = reader.string("cache_salt", 1, 128).value_or("");
  read_metadata(reader, fields);
  fields.return_token_ids = reader.boolean("return_token_ids").value_or(false);
  fields.include_receipt = reader.boolean("include_receipt").value_or(false);
  fields.timeout = read_time_limit(reader, "timeout_ms");
  fields.slo_ttft = read_time_limit(reader, "slo_ttft_ms");
  return fields;
}

StreamFields read_stream_fields(FieldReader& reader, bool include_receipt) {
  StreamFields fields;
  fields.stream = reader.boolean("stream").value_or(false);
  fields.include_usage = fields.stream && include_receipt;
  const auto options = reader.object("stream_options");
  if (!options) return fields;
  if (!fields.stream) {
    reader.fail(ErrorCode::kInvalidValue, "stream_options",
                "stream_options is only allowed with stream: true");
    return fields;
  }
  FieldReader nested(*options, reader.path("stream_options"));
  fields.include_usage = nested.boolean("include_usage").value_or(false) || fields.include_usage;
  fields.continuous_usage_stats = nested.boolean("continuous_usage_stats").value_or(false);
  if (fields.continuous_usage_stats && !fields.include_usage) {
    nested.fail(ErrorCode::kInvalidValue, "continuous_usage_stats",
                "continuous_usage_stats needs include_usage: true");
  }
  if (nested.boolean("include_obfuscation").value_or(false)) {
    nested.fail(ErrorCode::kUnsupportedParameter, "include_obfuscation",
                "include_obfuscation is only served as false");
  }
  nested.refuse_unread();
  if (const auto result = nested.result(); !result) reader.fail(result.error());
  return fields;
}

std::optional<int> read_token_cap(FieldReader& reader, std::string_view name, int min) {
  const auto cap = reader.integer(name, min);
  if (!cap) return std::nullopt;
  return to_int(*cap);
}

void check_min_tokens(FieldReader& reader, const GenerationFields& fields) {
  if (!fields.max_tokens || fields.sampling.min_tokens <= *fields.max_tokens) return;
  reader.fail(ErrorCode::kInvalidValue, "min_tokens",
              "min_tokens must not be above the asked max tokens, " +
                  std::to_string(*fields.max_tokens) + ", got " +
                  std::to_string(fields.sampling.min_tokens));
}

IgnoredFields take_ignored(FieldReader& reader, const ParseContext& context) {
  if (context.strict_fields) {
    reader.refuse_unread();
    return {};
  }
  const auto names = reader.unread();
  IgnoredFields ignored;
  ignored.count = names.size();
  const auto shown =
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxShownIgnored));
  ignored.names.assign(names.begin(), shown);
  return ignored;
}

std::string ignored_header(const IgnoredFields& ignored) {
  std::string header;
  for (const std::string& name : ignored.names) {
    if (!header.empty()) header += ',';
    append_encoded(header, name);
  }
  if (ignored.count > ignored.names.size()) header += ",...";
  return header;
}

}  // namespace paceline::openai
