#pragma once

#include "http/openai/json_document.h"
#include "sampling/sampling_params.h"

namespace paceline::openai {

/// What the parsers of requests need to know about the server. Immutable while requests are parsed.
struct ParseContext {
  /// Defined ids of the vocabulary; ids at and above it are refused.
  int vocab_size = 0;
  JsonLimits json;
  /// `http.strict_fields`: unknown top-level fields are refused instead of ignored.
  bool strict_fields = false;
  /// `sampling.*`: values of sampling fields that a request leaves out.
  SamplingParams default_sampling;
};

}  // namespace paceline::openai
