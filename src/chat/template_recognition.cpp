#include "chat/template_recognition.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "chat/json_text.h"
#include "chat/qwen25_texts.h"

namespace paceline {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

tl::unexpected<Error> not_recognised(const std::string& why) {
  return fail(ErrorCode::kBadFile, "the chat template of the model is not the one of Qwen2.5: " +
                                       why + "; `--chat-template chatml` uses Qwen2.5's instead");
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMaxShown = 60;
  if (text.size() <= kMaxShown) return to_json_string(text);
  return to_json_string(text.substr(0, kMaxShown)) + "…";
}

/// Collects the string literals of a template in order, except keys in brackets (`message['role']`
/// is the same as `message.role`).
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> run() {
    while (pos_ < text_.size()) {
      const std::size_t open = text_.find('{', pos_);
      const std::string_view outside = text_.substr(pos_, open - pos_);
      if (outside.find_first_not_of(kBlank) != std::string_view::npos) {
        return not_recognised("it writes " + shown(outside));
      }
      if (open == std::string_view::npos) break;
      pos_ = open;
      if (!read_tag()) return not_recognised("a tag of it is not closed or not known");
    }
    return std::move(literals_);
  }

 private:
  bool read_tag() {
    const std::string_view opening = text_.substr(pos_, 2);
    pos_ += opening.size();
    if (opening == "{#") return skip_comment();
    if (opening == "{{") return read_code("}}");
    if (opening == "{%") return read_code("%}");
    return false;
  }

  bool skip_comment() {
    const std::size_t end = text_.find("#}", pos_);
    if (end == std::string_view::npos) return false;
    pos_ = end + 2;
    return true;
  }

  bool read_code(std::string_view closing) {
    char before = '\0';  // last character that is not blank
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (text_.substr(pos_).starts_with(closing)) {
        pos_ += closing.size();
        return true;
      }
      if (c == '\'' || c == '"') {
        std::optional<std::string> literal = read_literal(c);
        if (!literal) return false;
        if (before != '[') literals_.push_back(*std::move(literal));
      } else {
        ++pos_;
      }
      if (kBlank.find(c) == std::string_view::npos) before = c;
    }
    return false;
  }

  std::optional<std::string> read_literal(char quote) {
    std::string literal;
    for (++pos_; pos_ < text_.size(); ++pos_) {
      const char c = text_[pos_];
      if (c == quote) {
        ++pos_;
        return literal;
      }
      if (c == '\\' && pos_ + 1 < text_.size()) {
        const char escaped = text_[++pos_];
        literal += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
      } else {
        literal += c;
      }
    }
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  std::vector<std::string> literals_;
};

// The literals of the family's template in their order, with its default system text.
std::vector<std::string> family_literals(const std::string& default_system) {
  using namespace qwen25;
  const auto text = [](std::string_view t) { return std::string(t); };
  std::vector<std::string> all;
  const auto add = [&all](std::initializer_list<std::string> part) { all.insert(all.end(), part); };
  // The system turn with tools, then without.
  add({text(kSystemTurn), "system", default_system, text(kToolsHead), "\n", text(kToolsTail)});
  add({"system", text(kSystemTurn), text(kTurnEndLine),
       text(kSystemTurn) + default_system + text(kTurnEndLine)});
  // Turns without calls; assistant turns with calls; results of calls; the open turn at the end.
  add({"user", "system", "assistant", text(kTurnStart), "\n", text(kTurnEnd), "\n"});
  add({"assistant", text(kTurnStart), "\n", text(kCallHead), text(kCallMiddle), text(kCallTail),
       text(kTurnEndLine)});
  add({"tool", "tool", text(kResponsesTurn), text(kResponseHead), text(kResponseTail), "tool",
       text(kTurnEndLine)});
  add({text(kAssistantTurn)});
  return all;
}

}  // namespace

Result<std::string> recognise_qwen25_template(std::string_view jinja_text) {
  const auto literals = LiteralReader(jinja_text).run();
  if (!literals) return tl::unexpected(literals.error());
  constexpr std::size_t kDefaultSystemIndex = 2;
  if (literals->size() <= kDefaultSystemIndex) return not_recognised("it has too few texts");
  std::string default_system = (*literals)[kDefaultSystemIndex];

  const std::vector<std::string> expected = family_literals(default_system);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i == literals->size()) return not_recognised("it lacks " + shown(expected[i]));
    if ((*literals)[i] != expected[i]) {
      return not_recognised("it has " + shown((*literals)[i]) + " where " + shown(expected[i]) +
                            " is expected");
    }
  }
  if (literals->size() > expected.size()) {
    return not_recognised("it has " + shown((*literals)[expected.size()]) + " at the end");
  }
  return default_system;
}

}  // namespace paceline
