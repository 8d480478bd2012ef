#include "http/handlers/request_parsing.h"

#include <string>

#include "http/http_options.h"

namespace paceline {

openai::ParseContext make_parse_context(const ServerContext& context, const ServedModel& model) {
  openai::ParseContext parse_context;
  parse_context.vocab_size = model.tokenizer->vocab_size();
  parse_context.json.max_depth = context.options.max_json_depth;
  parse_context.strict_fields = context.options.strict_fields;
  parse_context.default_sampling = model.sampling_defaults;
  return parse_context;
}

Error model_not_found(std::string_view name) {
  constexpr std::size_t kMaxShown = 128;
  const bool is_cut = name.size() > kMaxShown;
  return Error{ErrorCode::kModelNotFound,
               "the model '" + std::string(name.substr(0, kMaxShown)) + (is_cut ? "…" : "") +
                   "' does not exist",
               "model"};
}

}  // namespace paceline
