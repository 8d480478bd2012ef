#include "tokenizer/bpe_tokenizer.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/token_count_bound.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_cache.h"

namespace paceline {
namespace {

constexpr std::size_t kNumCachedWords = std::size_t{1} << 16;

// A word that is certain to have too many tokens is encoded in parts of this many bytes, only until
// there are enough ids.
constexpr std::size_t kPartBytes = 4096;

/// Ids being collected, and the number at which to stop.
struct Encoding {
  std::vector<TokenId> ids;
  std::size_t max_tokens;

  [[nodiscard]] bool is_over() const { return ids.size() > max_tokens; }
};

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(Vocab vocab, SentencePieceModel model, PreTokenizer pre_tokenizer)
      : vocab_(std::move(vocab)),
        model_(std::move(model)),
        pre_tokenizer_(std::move(pre_tokenizer)),
        specials_(vocab_),
        bound_(vocab_),
        cache_(kNumCachedWords) {}

  /// Adds the end tokens named by the file and those of the Qwen family. Errors: kBadFile for an id
  /// that is not defined.
  Result<void> set_end_ids(std::span<const std::int32_t> ids);

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text, SpecialText special,
                                            std::size_t max_tokens) const override {
    const TextSegment segment{std::string(text), special};
    return encode_segments({&segment, 1}, max_tokens);
  }
  [[nodiscard]] std::vector<TokenId> encode_segments(std::span<const TextSegment> segments,
                                                     std::size_t max_tokens) const override;
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, bool skip_control) const override;
  [[nodiscard]] std::string_view token_bytes(TokenId id) const override { return vocab_.bytes(id); }
  [[nodiscard]] int vocab_size() const override { return vocab_.size(); }
  [[nodiscard]] bool is_control(TokenId id) const override {
    return vocab_.type(id) == TokenType::kControl;
  }
  [[nodiscard]] std::optional<TokenId> find_special(std::string_view text) const override {
    return specials_.find(text);
  }
  [[nodiscard]] std::span<const TokenId> end_ids() const override { return end_ids_; }

 private:
  void encode_parsed(std::string_view text, std::string& plain, Encoding& out) const;
  void encode_plain(std::string_view text, Encoding& out) const;
  void encode_word(std::string_view word, Encoding& out) const;

  Vocab vocab_;
  SentencePieceModel model_;
  PreTokenizer pre_tokenizer_;
  SpecialTokens specials_;
  TokenCountBound bound_;
  std::vector<TokenId> end_ids_;
  mutable WordCache cache_;
};

Result<void> BpeTokenizer::set_end_ids(std::span<const std::int32_t> ids) {
  end_ids_.clear();
  for (const std::int32_t id : ids) {
    if (!is_defined(TokenId{id})) {
      return fail(ErrorCode::kBadFile, "the end token " + std::to_string(id) +
                                           " is not one of the " + std::to_string(vocab_size()) +
                                           " tokens of the vocabulary");
    }
    end_ids_.push_back(TokenId{id});
  }
  for (const std::string_view text : {"<|im_end|>", "<|endoftext|>"}) {
    const auto id = specials_.find(text);
    if (id && is_control(*id)) end_ids_.push_back(*id);
  }
  std::sort(end_ids_.begin(), end_ids_.end());
  end_ids_.erase(std::unique(end_ids_.begin(), end_ids_.end()), end_ids_.end());
  return {};
}

std::vector<TokenId> BpeTokenizer::encode_segments(std::span<const TextSegment> segments,
                                                   std::size_t max_tokens) const {
  Encoding out{{}, max_tokens};
  std::string plain;   // text since the last special token
  std::string parsed;  // adjacent text in which special tokens count
  for (std::size_t i = 0; i < segments.size() && !out.is_over(); ++i) {
    if (segments[i].special == SpecialText::kPlain) {
      plain += segments[i].text;
      continue;
    }
    parsed += segments[i].text;
    const bool goes_on = i + 1 < segments.size() && segments[i + 1].special == SpecialText::kParse;
    if (goes_on) continue;
    encode_parsed(parsed, plain, out);
    parsed.clear();
  }
  if (!out.is_over()) encode_plain(plain, out);
  if (out.is_over()) out.ids.resize(max_tokens + 1);
  return std::move(out.ids);
}

// Encodes up to the last special token of `text`; what follows it is left in `plain`.
void BpeTokenizer::encode_parsed(std::string_view text, std::string& plain, Encoding& out) const {
  std::size_t pos = 0;
  while (const auto match = specials_.find_next(text, pos)) {
    plain += text.substr(pos, match->begin - pos);
    encode_plain(plain, out);
    plain.clear();
    if (out.is_over()) return;
    out.ids.push_back(match->id);
    if (out.is_over()) return;
    pos = match->end;
  }
  plain += text.substr(pos);
}

void BpeTokenizer::encode_plain(std::string_view text, Encoding& out) const {
  std::string storage;
  pre_tokenizer_.split(to_nfc(text, storage), [this, &out](std::string_view word) {
    encode_word(word, out);
    return !out.is_over();
  });
}

void BpeTokenizer::encode_word(std::string_view word, Encoding& out) const {
  if (cache_.append_known(word, out.ids)) return;
  const std::size_t before = out.ids.size();
  if (word.size() > kPartBytes && out.max_tokens != kNoLimit &&
      bound_.exceeds(word, out.max_tokens - before)) {
    for (std::size_t pos = 0; pos < word.size() && !out.is_over(); pos += kPartBytes) {
      model_.encode(to_byte_alphabet(word.substr(pos, kPartBytes)), out.ids);
    }
    return;
  }
  model_.encode(to_byte_alphabet(word), out.ids);
  cache_.remember(word, std::span(out.ids).subspan(before));
}

std::string BpeTokenizer::decode(std::span<const TokenId> ids, bool skip_control) const {
  std::string out;
  for (const TokenId id : ids) {
    DCHECK(is_defined(id));
    if (!skip_control || !is_control(id)) out += vocab_.bytes(id);
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_bpe_tokenizer(const TokenizerSpec& spec) {
  auto vocab = Vocab::make(spec);
  if (!vocab) return tl::unexpected(vocab.error());
  auto pre_tokenizer = PreTokenizer::make(spec.pre_tokenizer);
  if (!pre_tokenizer) return tl::unexpected(pre_tokenizer.error());
  const auto pieces = bpe_pieces(spec);
  if (!pieces) return tl::unexpected(pieces.error());
  auto model = SentencePieceModel::make(*pieces);
  if (!model) return tl::unexpected(model.error());

  auto tokenizer = std::make_unique<BpeTokenizer>(*std::move(vocab), *std::move(model),
                                                  *std::move(pre_tokenizer));
  if (auto result = tokenizer->set_end_ids(spec.end_ids); !result) {
    return tl::unexpected(result.error());
  }
  return tokenizer;
}

}  // namespace paceline
