#include "http/openai/plain_answers.h"

#include "http/openai/answer_parts.h"

namespace paceline::openai {
namespace {

void write_entry(JsonWriter& json, const ModelEntry& entry) {
  json.begin_object()
      .string("id", entry.id)
      .string("object", "model")
      .integer("created", entry.created)
      .string("owned_by", "paceline")
      .string("root", entry.root)
      .null("parent")
      .integer("max_model_len", entry.max_model_len)
      .end_object();
}

}  // namespace

std::string write_model(const ModelEntry& entry) {
  std::string out;
  JsonWriter json(out);
  write_entry(json, entry);
  return out;
}

std::string write_model_list(std::span<const ModelEntry> entries) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().string("object", "list").key("data").begin_array();
  for (const ModelEntry& entry : entries) write_entry(json, entry);
  json.end_array().end_object();
  return out;
}

std::string write_tokens(std::span<const TokenId> ids, int max_model_len,
                         const std::vector<std::string_view>* token_strs) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("tokens");
  write_token_ids(json, ids);
  json.integer("count", static_cast<std::int64_t>(ids.size()))
      .integer("max_model_len", max_model_len);
  if (token_strs == nullptr) {
    json.null("token_strs");
  } else {
    json.key("token_strs").begin_array();
    for (const std::string_view text : *token_strs) json.string(text);
    json.end_array();
  }
  json.end_object();
  return out;
}

std::string write_prompt(std::string_view text) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().string("prompt", text).end_object();
  return out;
}

std::string write_input_tokens(int num_tokens) {
  std::string out;
  JsonWriter json(out);
  json.begin_object()
      .string("object", "response.input_tokens")
      .integer("input_tokens", num_tokens)
      .end_object();
  return out;
}

std::string write_response_deleted(std::string_view id) {
  std::string out;
  JsonWriter json(out);
  json.begin_object()
      .string("id", id)
      .string("object", "response")
      .boolean("deleted", true)
      .end_object();
  return out;
}

}  // namespace paceline::openai
