#pragma once

#include <string>
#include <string_view>

namespace paceline {

/// Returns `text` in normal form C: a view of `text` itself when nothing can change, else of
/// `storage`, which is overwritten. Linear in the length but for the sort of a run of combining
/// marks. Characters that Unicode 10 or later added are left as they are, marks among them being
/// taken as ordinary characters, because the Hugging Face tokenizers do so (their tables are those
/// of Unicode 9) and the ids must be equal.
/// Requires: is_valid_utf8(text). Source: Unicode Standard Annex 15.
[[nodiscard]] std::string_view to_nfc(std::string_view text, std::string& storage);

}  // namespace paceline
