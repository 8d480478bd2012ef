#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "tokenizer/bpe_pieces.h"

namespace paceline {

/// BPE engine: sentencepiece with a model built in memory. It merges neighbours whose join is a
/// piece, best score first, then leftmost, which is byte-level BPE when every piece has one merge.
/// Immutable; any thread.
class SentencePieceModel {
 public:
  /// Errors: kBadFile when the library does not take the pieces.
  [[nodiscard]] static Result<SentencePieceModel> make(std::span<const BpePiece> pieces);

  SentencePieceModel(SentencePieceModel&&) noexcept;
  SentencePieceModel& operator=(SentencePieceModel&&) noexcept;
  ~SentencePieceModel();

  /// Appends the ids of one word to `ids`; O(n log n) in its length. Requires: `word` is not empty
  /// and written in the byte-level alphabet.
  void encode(std::string_view word, std::vector<TokenId>& ids) const;

 private:
  struct Engine;
  explicit SentencePieceModel(std::unique_ptr<Engine> engine);

  std::unique_ptr<Engine> engine_;
};

}  // namespace paceline
