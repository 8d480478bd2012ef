#include "http/openai/unserved_fields.h"

#include <array>
#include <string>

namespace paceline::openai {
namespace {

void refuse_structured_outputs(FieldReader& reader) {
  const auto outputs = reader.object("structured_outputs");
  if (!outputs) return;
  FieldReader nested(*outputs, reader.path("structured_outputs"));
  int given = 0;
  for (const std::string_view key : {"json", "regex", "choice", "grammar"}) {
    if (nested.value(key)) ++given;
  }
  nested.refuse_unread();
  if (given != 1) {
    nested.fail(ErrorCode::kInvalidValue, "",
                "structured_outputs must have exactly one of json, regex, choice, grammar");
  }
  nested.fail(ErrorCode::kUnsupportedParameter, "", "structured_outputs is not supported");
  reader.fail(nested.result().error());
}

}  // namespace

void accept_only(FieldReader& reader, std::string_view name, std::string_view value) {
  const auto text = reader.string(name);
  if (!text || *text == value) return;
  reader.fail(ErrorCode::kUnsupportedParameter, name,
              reader.path(name) + " is only served as " + std::string(value));
}

void accept_only_false(FieldReader& reader, std::string_view name) {
  if (reader.boolean(name).value_or(false)) {
    reader.fail(ErrorCode::kUnsupportedParameter, name,
                reader.path(name) + " is only served as false");
  }
}

void refuse_unserved_chat_fields(FieldReader& reader) {
  accept_only_false(reader, "store");
  for (const std::string_view name : {"audio", "prediction", "web_search_options", "functions",
                                      "function_call", "moderation", "prompt_cache_options"}) {
    reader.refuse(name);
  }
  accept_only(reader, "reasoning_effort", "none");
  accept_only(reader, "verbosity", "medium");
  accept_only(reader, "prompt_cache_retention", "in_memory");
  const auto modalities = reader.array("modalities");
  if (!modalities) return;
  bool only_text = modalities->size() == 1;
  for (const JsonValue modality : modalities->elements()) {
    only_text = only_text && modality.is_string() && modality.text() == "text";
  }
  if (!only_text) {
    reader.fail(ErrorCode::kUnsupportedParameter, "modalities",
                "modalities is only served as [\"text\"]");
  }
}

void refuse_output_format(FieldReader& reader, std::string_view name) {
  const auto format = reader.object(name);
  if (!format) return;
  FieldReader nested(*format, reader.path(name));
  constexpr std::array<std::string_view, 3> kTypes{"text", "json_object", "json_schema"};
  const auto type = nested.choice("type", kTypes);
  if (!type) nested.missing("type");
  if (type == 0U) nested.refuse_unread();
  if (type.value_or(0) != 0) {
    nested.fail(ErrorCode::kUnsupportedParameter, "",
                reader.path(name) + " is only served with type text");
  }
  if (const auto result = nested.result(); !result) reader.fail(result.error());
}

void refuse_grammar_fields(FieldReader& reader) {
  refuse_structured_outputs(reader);
  accept_only_false(reader, "close_at_limit");
}

void refuse_structured_output(FieldReader& reader) {
  refuse_output_format(reader, "response_format");
  refuse_grammar_fields(reader);
}

void refuse_truncation(FieldReader& reader) {
  constexpr std::array<std::string_view, 3> kPolicies{"disabled", "auto", "summarize"};
  const auto policy = reader.choice("truncation", kPolicies);
  if (policy.value_or(0) != 0) {
    reader.fail(ErrorCode::kUnsupportedParameter, "truncation",
                "truncation is only served as disabled");
  }
  if (reader.object("truncation_options")) {
    reader.fail(ErrorCode::kInvalidValue, "truncation_options",
                "truncation_options is only allowed with truncation auto or summarize");
  }
}

}  // namespace paceline::openai
