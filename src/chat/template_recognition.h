#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace paceline {

/// Recognises the Qwen2.5 chat template by the texts it writes, whatever its spacing, and returns
/// the system text it takes when the conversation gives none (the instruct, Coder, Math and base
/// models differ only in that). No Jinja is run.
/// Errors: kBadFile naming the first text that the template has or lacks beyond the family's.
[[nodiscard]] Result<std::string> recognise_qwen25_template(std::string_view jinja_text);

}  // namespace paceline
