#pragma once

#include "http/openai/field_reader.h"

namespace paceline::openai {

// Known fields that are not served: accepted only with the value that changes nothing, else
// unsupported_parameter. What is malformed gets its own error first.

/// Fields of chat and completions in the second table of API.md §3.1, except `best_of`.
void refuse_unserved_chat_fields(FieldReader& reader);
/// `response_format` (only text), `structured_outputs` and `close_at_limit`.
void refuse_structured_output(FieldReader& reader);
/// `structured_outputs` and `close_at_limit` alone, for responses, which have `text` instead.
void refuse_grammar_fields(FieldReader& reader);
/// `truncation` (only disabled) and `truncation_options`.
void refuse_truncation(FieldReader& reader);

/// Checks an output format object standing under `name`: only type `text` is served.
void refuse_output_format(FieldReader& reader, std::string_view name);
/// Accepts null or exactly `value`.
void accept_only(FieldReader& reader, std::string_view name, std::string_view value);
/// Accepts null or false.
void accept_only_false(FieldReader& reader, std::string_view name);

}  // namespace paceline::openai
