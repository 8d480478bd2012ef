#include "http/openai/object_ids.h"

#include <cstddef>
#include <string_view>

namespace paceline::openai {
namespace {

std::string_view prefix(IdKind kind) {
  switch (kind) {
    case IdKind::kRequest:
      return "req_";
    case IdKind::kChat:
      return "chatcmpl-";
    case IdKind::kCompletion:
      return "cmpl-";
    case IdKind::kResponse:
      return "resp_";
    case IdKind::kMessage:
      return "msg_";
    case IdKind::kFunctionCall:
      return "fc_";
    case IdKind::kCall:
      return "call_";
  }
  return "";
}

}  // namespace

std::string make_id(IdKind kind, RandomBits random) {
  constexpr std::string_view kAlphabet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr int kNumCharacters = 24;
  constexpr unsigned kBitsPerDraw = 6;
  std::string id(prefix(kind));
  const std::size_t length = id.size() + kNumCharacters;
  while (id.size() < length) {
    std::uint64_t bits = random();
    for (unsigned i = 0; i < 64 / kBitsPerDraw && id.size() < length; ++i) {
      const std::size_t draw = bits & ((1U << kBitsPerDraw) - 1);
      bits >>= kBitsPerDraw;
      if (draw < kAlphabet.size()) id += kAlphabet[draw];  // 62 and 63 are drawn again
    }
  }
  return id;
}

}  // namespace paceline::openai
