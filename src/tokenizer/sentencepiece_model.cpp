#include "tokenizer/sentencepiece_model.h"

#include <sentencepiece_processor.h>
#include <bit>
#include <cstdint>
#include <string>

#include "base/check.h"

namespace paceline {
namespace {

// Fields of sentencepiece's ModelProto in protobuf's wire format, written by hand because a second
// protobuf in the process breaks the library. Source: sentencepiece_model.proto; protobuf encoding.
enum WireType : std::uint32_t { kVarint = 0, kLengthDelimited = 2, kFixed32 = 5 };

constexpr std::uint32_t kModelPieces = 1;
constexpr std::uint32_t kModelTrainerSpec = 2;
constexpr std::uint32_t kModelNormalizerSpec = 3;
constexpr std::uint32_t kPieceText = 1;
constexpr std::uint32_t kPieceScore = 2;
constexpr std::uint32_t kPieceType = 3;
constexpr std::uint32_t kTrainerModelType = 3;
constexpr std::uint32_t kNormalizerName = 1;
constexpr std::uint32_t kNormalizerAddDummyPrefix = 3;
constexpr std::uint32_t kNormalizerRemoveExtraWhitespaces = 4;
constexpr std::uint32_t kNormalizerEscapeWhitespaces = 5;

constexpr std::uint64_t kModelTypeBpe = 2;
constexpr std::uint64_t kPieceTypeUnknown = 2;

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>((value & 0x7F) | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void append_tag(std::string& out, std::uint32_t field, WireType type) {
  append_varint(out, field << 3 | type);
}

void append_number(std::string& out, std::uint32_t field, std::uint64_t value) {
  append_tag(out, field, kVarint);
  append_varint(out, value);
}

void append_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  append_tag(out, field, kLengthDelimited);
  append_varint(out, bytes.size());
  out.append(bytes);
}

void append_float(std::string& out, std::uint32_t field, float value) {
  append_tag(out, field, kFixed32);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(bits >> shift));
}

std::string serialized_model(std::span<const BpePiece> pieces) {
  std::string model;
  std::string piece;
  for (const BpePiece& p : pieces) {
    piece.clear();
    append_bytes(piece, kPieceText, p.text);
    append_float(piece, kPieceScore, p.score);
    append_bytes(model, kModelPieces, piece);
  }
  // The library wants one unknown piece; a space is not in the byte-level alphabet, so this one
  // can neither collide nor match.
  piece.clear();
  append_bytes(piece, kPieceText, " unknown ");
  append_number(piece, kPieceType, kPieceTypeUnknown);
  append_bytes(model, kModelPieces, piece);

  std::string trainer;
  append_number(trainer, kTrainerModelType, kModelTypeBpe);
  append_bytes(model, kModelTrainerSpec, trainer);

  std::string normalizer;
  append_bytes(normalizer, kNormalizerName, "identity");
  append_number(normalizer, kNormalizerAddDummyPrefix, 0);
  append_number(normalizer, kNormalizerRemoveExtraWhitespaces, 0);
  append_number(normalizer, kNormalizerEscapeWhitespaces, 0);
  append_bytes(model, kModelNormalizerSpec, normalizer);
  return model;
}

}  // namespace

struct SentencePieceModel::Engine {
  sentencepiece::SentencePieceProcessor processor;
  std::vector<TokenId> ids;  // by the library's piece number
};

SentencePieceModel::SentencePieceModel(std::unique_ptr<Engine> engine)
    : engine_(std::move(engine)) {}
SentencePieceModel::SentencePieceModel(SentencePieceModel&&) noexcept = default;
SentencePieceModel& SentencePieceModel::operator=(SentencePieceModel&&) noexcept = default;
SentencePieceModel::~SentencePieceModel() = default;

Result<SentencePieceModel> SentencePieceModel::make(std::span<const BpePiece> pieces) {
  auto engine = std::make_unique<Engine>();
  const auto status = engine->processor.LoadFromSerializedProto(serialized_model(pieces));
  if (!status.ok()) {
    return fail(ErrorCode::kBadFile,
                std::string("sentencepiece refuses the vocabulary: ") + status.error_message());
  }
  engine->ids.reserve(pieces.size());
  for (const BpePiece& p : pieces) engine->ids.push_back(p.id);
  return SentencePieceModel(std::move(engine));
}

void SentencePieceModel::encode(std::string_view word, std::vector<TokenId>& ids) const {
  std::vector<int> numbers;
  const auto status = engine_->processor.Encode(word, &numbers);
  CHECK(status.ok());  // fails only for a model that is not loaded
  for (const int number : numbers) {
    const auto i = static_cast<std::size_t>(number);
    CHECK(i < engine_->ids.size());  // the unknown piece would need a character off the alphabet
    ids.push_back(engine_->ids[i]);
  }
}

}  // namespace paceline
