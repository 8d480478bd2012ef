#include "tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "base/check.h"

namespace paceline {
namespace {

// PCRE2 counts U+180E as white space, Unicode and the Hugging Face tokenizers do not; so white
// space is written out (the property White_Space).
#define SPACES                                                                     \
  R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F})" \
  R"(\x{3000})"

// PCRE2 10.42 has the tables of Unicode 14, the Hugging Face tokenizers those of Unicode 16; the
// letters and numbers between are added by hand.
#define LETTERS                                                                              \
  R"(\p{L}\x{1C89}-\x{1C8A}\x{A7CB}-\x{A7CD}\x{A7DA}-\x{A7DC}\x{105C0}-\x{105F3}\x{10D4A}-)" \
  R"(\x{10D65}\x{10D6F}-\x{10D85}\x{10EC2}-\x{10EC4}\x{1123F}-\x{11240}\x{11380}-\x{11389})" \
  R"(\x{1138B}\x{1138E}\x{11390}-\x{113B5}\x{113B7}\x{113D1}\x{113D3}\x{11BC0}-\x{11BE0})"   \
  R"(\x{11F02}\x{11F04}-\x{11F10}\x{11F12}-\x{11F33}\x{1342F}\x{13441}-\x{13446}\x{13460}-)" \
  R"(\x{143FA}\x{16100}-\x{1611D}\x{16D40}-\x{16D6C}\x{18CFF}\x{1B132}\x{1B155}\x{1DF25}-)"  \
  R"(\x{1DF2A}\x{1E030}-\x{1E06D}\x{1E4D0}-\x{1E4EB}\x{1E5D0}-\x{1E5ED}\x{1E5F0}\x{2B739})"  \
  R"(\x{2EBF0}-\x{2EE5D}\x{31350}-\x{323AF})"
#define NUMBERS                                                                               \
  R"(\p{N}\x{10D40}-\x{10D49}\x{116D0}-\x{116E3}\x{11BF0}-\x{11BF9}\x{11F50}-\x{11F59})"      \
  R"(\x{16130}-\x{16139}\x{16D70}-\x{16D79}\x{1CCF0}-\x{1CCF9}\x{1D2C0}-\x{1D2D3}\x{1E4F0}-)" \
  R"(\x{1E4F9}\x{1E5F1}-\x{1E5FA})"

constexpr char kQwen2Pattern[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    "|[^\\r\\n" LETTERS NUMBERS "]?[" LETTERS
    "]+"
    "|[" NUMBERS
    "]"
    "| ?[^" SPACES LETTERS NUMBERS
    "]+[\\r\\n]*"
    "|[" SPACES
    "]*[\\r\\n]+"
    "|[" SPACES "]+(?![^" SPACES
    "])"
    "|[" SPACES "]+";
#undef SPACES
#undef LETTERS
#undef NUMBERS

// Steps of the matcher that a linear search needs per byte, with room: each alternative may take a
// run of characters once and give it back once.
constexpr std::size_t kStepsPerByte = 16;
constexpr std::size_t kMinSteps = 1000;

}  // namespace

struct PreTokenizer::Pattern {
  struct Free {
    void operator()(pcre2_code* p) const { pcre2_code_free(p); }
    void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
    void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
  };
  std::unique_ptr<pcre2_code, Free> code;
};

PreTokenizer::PreTokenizer(std::unique_ptr<const Pattern> pattern) : pattern_(std::move(pattern)) {}
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

Result<PreTokenizer> PreTokenizer::make(std::string_view name) {
  if (!name.empty() && name != "qwen2") {
    return fail(ErrorCode::kBadFile,
                "the split pattern `" + std::string(name) + "` is not supported, only `qwen2`");
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto pattern = std::make_unique<Pattern>();
  pattern->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kQwen2Pattern),
                                    PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED,
                                    &error, &offset, nullptr));
  if (pattern->code == nullptr) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return fail(ErrorCode::kInternalError, "PCRE2 refuses the split pattern at " +
                                               std::to_string(offset) + ": " +
                                               reinterpret_cast<const char*>(text.data()));
  }
  // Where the system allows no generated code the interpreter does the same, slower.
  pcre2_jit_compile(pattern->code.get(), PCRE2_JIT_COMPLETE);
  return PreTokenizer(std::move(pattern));
}

void PreTokenizer::split(std::string_view text,
                         FunctionRef<bool(std::string_view word)> visit) const {
  const std::unique_ptr<pcre2_match_data, Pattern::Free> match(pcre2_match_data_create(1, nullptr));
  const std::unique_ptr<pcre2_match_context, Pattern::Free> limits(
      pcre2_match_context_create(nullptr));
  if (match == nullptr || limits == nullptr) throw std::bad_alloc();
  const std::size_t max_steps = kMinSteps + kStepsPerByte * text.size();
  pcre2_set_match_limit(limits.get(),
                        static_cast<std::uint32_t>(std::min<std::size_t>(max_steps, UINT32_MAX)));

  // Every character starts some alternative, so each match begins where the last one ended. The
  // text is valid UTF-8 by contract; checking it again in every call would be quadratic.
  for (std::size_t pos = 0; pos < text.size();) {
    const int result = pcre2_match(pattern_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                   text.size(), pos, PCRE2_NO_UTF_CHECK, match.get(), limits.get());
    if (result < 0)
      throw std::runtime_error("split pattern: PCRE2 error " + std::to_string(result));
    const std::size_t end = pcre2_get_ovector_pointer(match.get())[1];
    CHECK(end > pos);
    if (!visit(text.substr(pos, end - pos))) return;
    pos = end;
  }
}

std::string_view qwen2_split_pattern() {
  return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
         R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

}  // namespace paceline
