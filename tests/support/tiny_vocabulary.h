#pragma once

#include "tokenizer/tokenizer_spec.h"

namespace paceline {

/// A byte-level vocabulary of 256 bytes, the merges of `Hello`, ` He`, `你`, and four special
/// tokens, with im_end as end token. Ids 0–255 are the bytes in order, 256 `He`, 257 `ll`, 258
/// `llo`, 259 `Hello`, 260 ` He`, 261 the first two bytes of `你`, 262 `你`, 263 `<|endoftext|>`,
/// 264 `<|im_start|>`, 265 `<|im_end|>`, 266 `<tool_call>` (user-defined).
[[nodiscard]] TokenizerSpec tiny_vocabulary();

}  // namespace paceline
