#include "tokenizer/vocab.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/check.h"
#include "tokenizer/byte_alphabet.h"

namespace paceline {
namespace {

bool is_supported(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kControl ||
         type == TokenType::kUserDefined || type == TokenType::kUnused;
}

std::string token_name(std::size_t id, const std::string& token) {
  return "token " + std::to_string(id) + " `" + token + "`";
}

// Returns the type of every entry, or the reason why they are not a vocabulary.
Result<std::vector<TokenType>> checked_types(const TokenizerSpec& spec) {
  if (spec.tokens.empty()) return fail(ErrorCode::kBadFile, "the vocabulary has no tokens");
  if (spec.types.empty()) return std::vector<TokenType>(spec.tokens.size(), TokenType::kNormal);
  if (spec.types.size() != spec.tokens.size()) {
    return fail(ErrorCode::kBadFile, "the vocabulary has " + std::to_string(spec.tokens.size()) +
                                         " tokens but " + std::to_string(spec.types.size()) +
                                         " token types");
  }
  for (std::size_t id = 0; id < spec.types.size(); ++id) {
    if (!is_supported(spec.types[id])) {
      return fail(ErrorCode::kBadFile, token_name(id, spec.tokens[id]) + " has type " +
                                           std::to_string(static_cast<int>(spec.types[id])) +
                                           "; a byte-level vocabulary has only normal (1), control "
                                           "(3), user-defined (4) and unused (5) tokens");
    }
  }
  return spec.types;
}

// Number of entries up to the last one that is used.
std::size_t defined_count(const std::vector<TokenType>& types) {
  const auto last = std::find_if(types.rbegin(), types.rend(),
                                 [](TokenType type) { return type != TokenType::kUnused; });
  return static_cast<std::size_t>(types.rend() - last);
}

}  // namespace

Result<Vocab> Vocab::make(const TokenizerSpec& spec) {
  auto types = checked_types(spec);
  if (!types) return tl::unexpected(types.error());
  Vocab vocab;
  vocab.types_ = *std::move(types);
  vocab.types_.resize(defined_count(vocab.types_));
  if (vocab.types_.empty()) return fail(ErrorCode::kBadFile, "the vocabulary has no used tokens");

  std::unordered_map<std::string_view, std::size_t> first_id;
  first_id.reserve(vocab.types_.size());
  vocab.offsets_.reserve(vocab.types_.size() + 1);
  vocab.offsets_.push_back(0);
  for (std::size_t id = 0; id < vocab.types_.size(); ++id) {
    const std::string& token = spec.tokens[id];
    if (vocab.types_[id] == TokenType::kUnused) {
      return fail(ErrorCode::kBadFile,
                  "token id " + std::to_string(id) + " is unused although ids up to " +
                      std::to_string(vocab.types_.size() - 1) + " are defined");
    }
    if (token.empty())
      return fail(ErrorCode::kBadFile, "token " + std::to_string(id) + " is empty");
    const auto [other, is_new] = first_id.emplace(token, id);
    if (!is_new) {
      return fail(ErrorCode::kBadFile,
                  token_name(id, token) + " repeats token " + std::to_string(other->second));
    }
    if (vocab.types_[id] == TokenType::kNormal) {
      const std::optional<std::string> bytes = from_byte_alphabet(token);
      if (!bytes) {
        return fail(ErrorCode::kBadFile,
                    token_name(id, token) + " is not written in the byte-level alphabet");
      }
      vocab.bytes_ += *bytes;
    } else {
      vocab.bytes_ += token;
    }
    vocab.offsets_.push_back(vocab.bytes_.size());
  }
  return vocab;
}

std::string_view Vocab::bytes(TokenId id) const {
  DCHECK(raw(id) >= 0 && raw(id) < size());
  const std::size_t i = index_of(id);
  return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
}

}  // namespace paceline
