#include "http/openai/json_document.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "http/openai/json_writer.h"

namespace paceline::openai {

/// Nodes in the order of the text; a member is a string node (its key) and the node of its value.
struct JsonTree {
  struct Node {
    std::uint32_t begin = 0;   // strings, numbers: first byte in `text`
    std::uint32_t length = 0;  // strings, numbers: bytes; containers: elements or members
    std::uint32_t next = 0;    // the node after this one and all inside it
    JsonKind kind = JsonKind::kNull;
  };
  std::vector<Node> nodes;
  std::string text;  // decoded strings and spelled numbers, one after another

  [[nodiscard]] std::string_view text_of(const Node& node) const {
    return std::string_view(text).substr(node.begin, node.length);
  }
};

namespace {

namespace ondemand = simdjson::ondemand;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether `token` is a number of RFC 8259 §6, no more and no less.
bool is_json_number(std::string_view token) {
  std::size_t i = 0;
  const auto skip_digits = [&] {
    const std::size_t first = i;
    while (i < token.size() && is_digit(token[i])) ++i;
    return i > first;
  };
  if (i < token.size() && token[i] == '-') ++i;
  if (i < token.size() && token[i] == '0') {
    ++i;
  } else if (!skip_digits()) {
    return false;
  }
  if (i < token.size() && token[i] == '.') {
    ++i;
    if (!skip_digits()) return false;
  }
  if (i < token.size() && (token[i] == 'e' || token[i] == 'E')) {
    ++i;
    if (i < token.size() && (token[i] == '+' || token[i] == '-')) ++i;
    if (!skip_digits()) return false;
  }
  return i == token.size();
}

/// Value of the four hexadecimal digits at `i`, or nothing.
std::optional<unsigned> hex4(std::string_view text, std::size_t i) {
  if (i + 4 > text.size()) return std::nullopt;
  unsigned value = 0;
  const char* first = text.data() + i;
  const auto [end, error] = std::from_chars(first, first + 4, value, 16);
  if (error != std::errc{} || end != first + 4) return std::nullopt;
  return value;
}

/// Whether a \u escape stands for half of a surrogate pair. simdjson 3.0.1 lets some of them
/// through. Requires: backslashes only inside strings, as in every valid text.
bool has_lone_surrogate(std::string_view text) {
  std::size_t i = text.find('\\');
  while (i != std::string_view::npos && i + 1 < text.size()) {
    if (text[i + 1] != 'u') {
      i = text.find('\\', i + 2);
      continue;
    }
    const unsigned unit = hex4(text, i + 2).value_or(0);
    if (unit >= 0xDC00 && unit <= 0xDFFF) return true;
    i += 6;
    if (unit >= 0xD800 && unit <= 0xDBFF) {
      const bool has_second = text.substr(i, 2) == "\\u";
      const unsigned second = has_second ? hex4(text, i + 2).value_or(0) : 0;
      if (second < 0xDC00 || second > 0xDFFF) return true;
      i += 6;
    }
    i = text.find('\\', i);
  }
  return false;
}

/// A key as messages show it: quoted, at most 64 bytes of it.
std::string shown_key(std::string_view key) {
  std::string out;
  append_json_string(out, key.substr(0, 64));
  return out;
}

/// Copies a simdjson document into a tree, visiting every value, so that nothing stays unchecked.
class TreeBuilder {
 public:
  TreeBuilder(JsonTree& tree, const JsonLimits& limits, int max_depth)
      : tree_(tree), limits_(limits), max_depth_(max_depth) {}

  /// Returns false with error() set when the value breaks a rule.
  bool add(ondemand::value value, int depth) {
    ondemand::json_type type{};
    if (!check(value.type().get(type))) return false;
    switch (type) {
      case ondemand::json_type::object:
        return add_object(value, depth + 1);
      case ondemand::json_type::array:
        return add_array(value, depth + 1);
      case ondemand::json_type::string: {
        std::string_view text;
        if (!check(value.get_string().get(text))) return false;
        add_text(JsonKind::kString, text);
        return true;
      }
      default:
        return add_token(value.raw_json_token());
    }
  }

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool add_object(ondemand::value value, int depth) {
    if (!check_depth(depth)) return false;
    ondemand::object object;
    if (!check(value.get_object().get(object))) return false;
    const std::size_t node = begin_container(JsonKind::kObject);
    std::vector<std::uint32_t> keys;
    for (auto item : object) {
      ondemand::field field;
      std::string_view key;
      if (!check(std::move(item).get(field)) || !check(field.unescaped_key().get(key))) {
        return false;
      }
      if (keys.size() >= limits_.max_members) {
        return refuse("an object has more than " + std::to_string(limits_.max_members) +
                      " members");
      }
      keys.push_back(static_cast<std::uint32_t>(tree_.nodes.size()));
      add_text(JsonKind::kString, key);
      if (!add(field.value(), depth)) return false;
    }
    end_container(node, keys.size());
    return check_unique(keys);
  }

  bool add_array(ondemand::value value, int depth) {
    if (!check_depth(depth)) return false;
    ondemand::array array;
    if (!check(value.get_array().get(array))) return false;
    const std::size_t node = begin_container(JsonKind::kArray);
    std::size_t count = 0;
    for (auto item : array) {
      ondemand::value element;
      if (!check(std::move(item).get(element)) || !add(element, depth)) return false;
      ++count;
    }
    end_container(node, count);
    return true;
  }

  bool add_token(std::string_view token) {
    const std::size_t end = token.find_last_not_of(" \t\r\n");
    token = token.substr(0, end + 1);
    if (token == "null") {
      add_text(JsonKind::kNull, {});
    } else if (token == "true") {
      add_text(JsonKind::kTrue, {});
    } else if (token == "false") {
      add_text(JsonKind::kFalse, {});
    } else if (is_json_number(token)) {
      add_text(JsonKind::kNumber, token);
    } else {
      return refuse("a value is neither a literal nor a number");
    }
    return true;
  }

  void add_text(JsonKind kind, std::string_view text) {
    const auto next = static_cast<std::uint32_t>(tree_.nodes.size() + 1);
    tree_.nodes.push_back({.begin = static_cast<std::uint32_t>(tree_.text.size()),
                           .length = static_cast<std::uint32_t>(text.size()),
                           .next = next,
                           .kind = kind});
    tree_.text.append(text);
  }

  std::size_t begin_container(JsonKind kind) {
    tree_.nodes.push_back({.kind = kind});
    return tree_.nodes.size() - 1;
  }

  void end_container(std::size_t node, std::size_t count) {
    tree_.nodes[node].length = static_cast<std::uint32_t>(count);
    tree_.nodes[node].next = static_cast<std::uint32_t>(tree_.nodes.size());
  }

  bool check_unique(std::vector<std::uint32_t>& keys) {
    const auto text = [this](std::uint32_t key) { return tree_.text_of(tree_.nodes[key]); };
    std::sort(keys.begin(), keys.end(), [&](auto a, auto b) { return text(a) < text(b); });
    const auto twice = std::adjacent_find(keys.begin(), keys.end(),
                                          [&](auto a, auto b) { return text(a) == text(b); });
    return twice == keys.end() || refuse("duplicate key " + shown_key(text(*twice)));
  }

  bool check_depth(int depth) {
    return depth <= max_depth_ ||
           refuse("nested deeper than " + std::to_string(limits_.max_depth) + " levels");
  }

  bool check(simdjson::error_code code) {
    return code == simdjson::SUCCESS || refuse(simdjson::error_message(code));
  }

  bool refuse(std::string message) {
    error_ = std::move(message);
    return false;
  }

  JsonTree& tree_;
  const JsonLimits& limits_;
  const int max_depth_;
  std::string error_;
};

/// Parses `text`, an array or an object with at most `max_depth` levels, into a tree.
Result<std::unique_ptr<JsonTree>> build_tree(std::string_view text, const JsonLimits& limits,
                                             int max_depth) {
  const auto invalid = [](std::string_view reason) {
    return fail(ErrorCode::kInvalidJson, "not valid JSON: " + std::string(reason));
  };
  if (text.size() > std::numeric_limits<std::uint32_t>::max() / 2) return invalid("too long");

  const simdjson::padded_string padded(text);
  ondemand::parser parser;
  ondemand::document document;
  if (const auto error = parser.iterate(padded).get(document)) {
    return invalid(simdjson::error_message(error));
  }
  ondemand::value root;
  if (const auto error = document.get_value().get(root)) {
    return invalid(simdjson::error_message(error));
  }
  auto tree = std::make_unique<JsonTree>();
  tree->text.reserve(text.size());
  TreeBuilder builder(*tree, limits, max_depth);
  if (!builder.add(root, 0)) return invalid(builder.error());
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return invalid("something follows the value");
  }
  if (has_lone_surrogate(text)) return invalid("a \\u escape is half of a surrogate pair");
  return tree;
}

/// Whether the number's decimal exponent shows that it is out of range for being too small: it is
/// zero then.
bool is_underflow(std::string_view number) {
  const std::size_t first = number.find_first_of("123456789");
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  if (first >= e) return true;  // all digits are zero
  const std::size_t point = std::min(number.find('.'), e);
  std::int64_t exponent = 0;
  if (e < number.size()) {
    const bool plus = number[e + 1] == '+';
    const char* begin = number.data() + e + 1 + (plus ? 1 : 0);
    const auto result = std::from_chars(begin, number.data() + number.size(), exponent);
    if (result.ec == std::errc::result_out_of_range) return *begin == '-';
  }
  const auto first_place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return first_place < -exponent;
}

}  // namespace

JsonKind JsonValue::kind() const { return tree_->nodes[node_].kind; }

std::string_view JsonValue::text() const {
  DCHECK(is_string() || is_number());
  return tree_->text_of(tree_->nodes[node_]);
}

std::optional<std::int64_t> JsonValue::to_int64() const {
  const std::string_view digits = text();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<double> JsonValue::to_double() const {
  const std::string_view digits = text();
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    if (is_underflow(digits)) return 0.0;
    return std::nullopt;
  }
  return value;
}

std::size_t JsonValue::size() const {
  DCHECK(is_array() || is_object());
  return tree_->nodes[node_].length;
}

JsonElements JsonValue::elements() const {
  DCHECK(is_array());
  return JsonElements(*this);
}

JsonMembers JsonValue::members() const {
  DCHECK(is_object());
  return JsonMembers(*this);
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  for (const auto& [name, value] : members()) {
    if (name == key) return value;
  }
  return std::nullopt;
}

void JsonValue::append_compact(std::string& out) const {
  switch (kind()) {
    case JsonKind::kNull:
      out += "null";
      return;
    case JsonKind::kFalse:
      out += "false";
      return;
    case JsonKind::kTrue:
      out += "true";
      return;
    case JsonKind::kNumber:
      out += text();
      return;
    case JsonKind::kString:
      append_json_string(out, text());
      return;
    case JsonKind::kArray: {
      char separator = '[';
      for (const JsonValue element : elements()) {
        out += std::exchange(separator, ',');
        element.append_compact(out);
      }
      out += size() == 0 ? "[]" : "]";
      return;
    }
    case JsonKind::kObject: {
      char separator = '{';
      for (const auto& [name, value] : members()) {
        out += std::exchange(separator, ',');
        append_json_string(out, name);
        out += ':';
        value.append_compact(out);
      }
      out += size() == 0 ? "{}" : "}";
      return;
    }
  }
}

std::string JsonValue::to_compact() const {
  std::string out;
  append_compact(out);
  return out;
}

JsonElements::Iterator& JsonElements::Iterator::operator++() {
  node_ = tree_->nodes[node_].next;
  return *this;
}

JsonElements::Iterator JsonElements::begin() const { return {*array_.tree_, array_.node_ + 1}; }
JsonElements::Iterator JsonElements::end() const {
  return {*array_.tree_, array_.tree_->nodes[array_.node_].next};
}

JsonMembers::Iterator& JsonMembers::Iterator::operator++() {
  node_ = tree_->nodes[node_ + 1].next;
  return *this;
}

JsonMembers::Iterator JsonMembers::begin() const { return {*object_.tree_, object_.node_ + 1}; }
JsonMembers::Iterator JsonMembers::end() const {
  return {*object_.tree_, object_.tree_->nodes[object_.node_].next};
}

JsonMembers::Member JsonMembers::member(const JsonTree& tree, std::uint32_t node) {
  return {.key = tree.text_of(tree.nodes[node]), .value = JsonValue(tree, node + 1)};
}

JsonDocument::JsonDocument(std::unique_ptr<JsonTree> tree, std::uint32_t root)
    : tree_(std::move(tree)), root_(root) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

Result<JsonDocument> JsonDocument::parse_object(std::string_view text, const JsonLimits& limits) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return fail(ErrorCode::kInvalidJson, "the body is empty");
  if (text[first] != '{') return fail(ErrorCode::kInvalidJson, "the body is not a JSON object");
  auto tree = build_tree(text, limits, limits.max_depth);
  if (!tree) return tl::unexpected(std::move(tree.error()));
  return JsonDocument(std::move(*tree), 0);
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, const JsonLimits& limits) {
  // simdjson treats an outermost scalar in its own way; inside an array there is one way for all.
  std::string wrapped;
  wrapped.reserve(text.size() + 2);
  wrapped.append("[").append(text).append("]");
  auto tree = build_tree(wrapped, limits, limits.max_depth + 1);
  if (!tree) return tl::unexpected(std::move(tree.error()));
  if ((*tree)->nodes[0].length != 1) {
    return fail(ErrorCode::kInvalidJson, "not valid JSON: there must be exactly one value");
  }
  return JsonDocument(std::move(*tree), 1);
}

JsonValue JsonDocument::root() const { return {*tree_, root_}; }

}  // namespace paceline::openai
