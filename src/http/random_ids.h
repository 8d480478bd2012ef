#pragma once

#include <cstddef>
#include <string>

#include "http/openai/object_ids.h"

namespace paceline {

/// Makes an id that cannot be guessed from others: its bits come from the operating system. Any
/// thread.
[[nodiscard]] std::string random_object_id(openai::IdKind kind);
/// Returns `digits` random lower-case hex digits, not all zero.
[[nodiscard]] std::string random_hex(std::size_t digits);

}  // namespace paceline
