#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace paceline::openai {

enum class JsonKind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

class JsonDocument;
class JsonElements;
class JsonMembers;
struct JsonTree;

/// One value of a JsonDocument: a cheap handle, valid as long as the document. Any thread.
class JsonValue {
 public:
  [[nodiscard]] JsonKind kind() const;
  [[nodiscard]] bool is_null() const { return kind() == JsonKind::kNull; }
  [[nodiscard]] bool is_string() const { return kind() == JsonKind::kString; }
  [[nodiscard]] bool is_number() const { return kind() == JsonKind::kNumber; }
  [[nodiscard]] bool is_array() const { return kind() == JsonKind::kArray; }
  [[nodiscard]] bool is_object() const { return kind() == JsonKind::kObject; }
  [[nodiscard]] bool is_bool() const {
    return kind() == JsonKind::kTrue || kind() == JsonKind::kFalse;
  }

  /// The string without quotes and escapes, valid UTF-8, or the number exactly as it was written.
  /// Requires: is_string() or is_number().
  [[nodiscard]] std::string_view text() const;
  /// The number as a 64-bit integer; nothing when it has a fraction, an exponent or does not fit.
  /// Requires: is_number().
  [[nodiscard]] std::optional<std::int64_t> to_int64() const;
  /// The number as a finite double; nothing when it is too large. Requires: is_number().
  [[nodiscard]] std::optional<double> to_double() const;
  /// Elements of an array, members of an object. Requires: one of the two.
  [[nodiscard]] std::size_t size() const;
  /// Requires: is_array().
  [[nodiscard]] JsonElements elements() const;
  /// Requires: is_object().
  [[nodiscard]] JsonMembers members() const;
  /// The member's value; nothing when the object has no such key. Requires: is_object().
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const;

  /// Appends the value as JSON without white space; keys keep their order, numbers their spelling.
  void append_compact(std::string& out) const;
  [[nodiscard]] std::string to_compact() const;

 private:
  friend class JsonDocument;
  friend class JsonElements;
  friend class JsonMembers;
  JsonValue(const JsonTree& tree, std::uint32_t node) : tree_(&tree), node_(node) {}

  const JsonTree* tree_;
  std::uint32_t node_;
};

/// The elements of an array in order, for range-for.
class JsonElements {
 public:
  class Iterator {
   public:
    Iterator(const JsonTree& tree, std::uint32_t node) : tree_(&tree), node_(node) {}
    JsonValue operator*() const { return JsonElements::value(*tree_, node_); }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return node_ != other.node_; }

   private:
    const JsonTree* tree_;
    std::uint32_t node_;
  };

  explicit JsonElements(JsonValue array) : array_(array) {}
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;

 private:
  static JsonValue value(const JsonTree& tree, std::uint32_t node) { return {tree, node}; }
  JsonValue array_;
};

/// The members of an object in the order of the text, for range-for.
class JsonMembers {
 public:
  struct Member {
    std::string_view key;
    JsonValue value;
  };
  class Iterator {
   public:
    Iterator(const JsonTree& tree, std::uint32_t node) : tree_(&tree), node_(node) {}
    Member operator*() const { return JsonMembers::member(*tree_, node_); }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return node_ != other.node_; }

   private:
    const JsonTree* tree_;
    std::uint32_t node_;
  };

  explicit JsonMembers(JsonValue object) : object_(object) {}
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;

 private:
  static Member member(const JsonTree& tree, std::uint32_t node);
  JsonValue object_;
};

/// Bounds of one document.
struct JsonLimits {
  /// Arrays and objects inside one another, the outermost counted; 1 … 1000
  /// (`http.max_json_depth`).
  int max_depth = 128;
  /// Members of one object; keeps the search for duplicate keys short.
  std::size_t max_members = 65536;
};

/// A whole JSON text, checked completely before any field is looked at: grammar, UTF-8, escapes
/// without lone surrogates, depth and duplicate keys everywhere, in values nobody reads too.
/// Numbers keep their spelling, so that one out of range is reported on its own field. Owns a copy
/// of all it needs; memory is at most about 10 bytes per byte of text. Immutable; any thread.
class JsonDocument {
 public:
  /// Parses a text whose outermost value is an object. Errors: kInvalidJson.
  [[nodiscard]] static Result<JsonDocument> parse_object(std::string_view text,
                                                         const JsonLimits& limits = {});
  /// Parses a text with any outermost value. Errors: kInvalidJson.
  [[nodiscard]] static Result<JsonDocument> parse(std::string_view text,
                                                  const JsonLimits& limits = {});
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  /// The outermost value.
  [[nodiscard]] JsonValue root() const;

 private:
  JsonDocument(std::unique_ptr<JsonTree> tree, std::uint32_t root);

  std::unique_ptr<JsonTree> tree_;
  std::uint32_t root_;
};

}  // namespace paceline::openai
