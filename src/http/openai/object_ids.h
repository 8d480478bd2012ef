#pragma once

#include <cstdint>
#include <string>

#include "base/function_ref.h"

namespace paceline::openai {

enum class IdKind {
  kRequest,       ///< req_
  kChat,          ///< chatcmpl-
  kCompletion,    ///< cmpl-
  kResponse,      ///< resp_
  kMessage,       ///< msg_
  kFunctionCall,  ///< fc_
  kCall,          ///< call_
};

/// 64 random bits per call. Ids of responses are not guessable when the source is not.
using RandomBits = FunctionRef<std::uint64_t()>;

/// Makes an id: the kind's prefix and 24 of [0-9A-Za-z], all equally likely.
[[nodiscard]] std::string make_id(IdKind kind, RandomBits random);

}  // namespace paceline::openai
