#include "http/openai/legacy_logprobs.h"

#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "http/openai/answer_parts.h"
#include "http/openai/json_writer.h"

namespace paceline::openai {
namespace {

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

/// `{"token":logprob,…}`: the best tokens and the chosen one, each text once.
std::string top_object(const TokenLogprobText& token) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  std::vector<std::string> written;
  const auto add = [&](const LogprobText& item) {
    std::string text = to_lossy_utf8(item.bytes);
    if (std::find(written.begin(), written.end(), text) != written.end()) return;
    json.escaped_key(text);
    write_logprob(json, item.logprob);
    written.push_back(std::move(text));
  };
  for (const LogprobText& item : token.top) add(item);
  add(token.chosen);
  json.end_object();
  return out;
}

std::string& next_element(std::string& elements) {
  if (!elements.empty()) elements += ',';
  return elements;
}

}  // namespace

void LegacyLogprobs::add_unscored(std::string_view bytes) {
  next_element(token_logprobs_) += "null";
  next_element(top_logprobs_) += "null";
  advance(bytes);
}

void LegacyLogprobs::add(const TokenLogprobText& token) {
  JsonWriter json(next_element(token_logprobs_));
  write_logprob(json, token.chosen.logprob);
  next_element(top_logprobs_) += top_object(token);
  advance(token.chosen.bytes);
}

void LegacyLogprobs::flush(std::string& out) {
  JsonWriter json(out);
  json.begin_object();
  for (auto [name, elements] : {std::pair{"tokens", &tokens_},
                                {"token_logprobs", &token_logprobs_},
                                {"top_logprobs", &top_logprobs_},
                                {"text_offset", &text_offset_}}) {
    json.key(name).begin_array();
    if (!elements->empty()) json.raw(*elements);
    json.end_array();
    elements->clear();
  }
  json.end_object();
}

void LegacyLogprobs::advance(std::string_view bytes) {
  append_json_string(next_element(tokens_), bytes);
  next_element(text_offset_) += std::to_string(offset_);
  offset_ += std::count_if(bytes.begin(), bytes.end(), starts_character);
}

}  // namespace paceline::openai
