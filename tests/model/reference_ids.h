#pragma once

#include <filesystem>
#include <vector>

#include "base/ids.h"
#include "tests/model/forward_harness.h"

namespace paceline {

/// Reads lines of token ids; empty ones and those that begin with # are left out.
[[nodiscard]] std::vector<std::vector<TokenId>> read_id_lines(const std::filesystem::path& path);

/// Returns the num_tokens ids that follow the prompt when the best one is always taken.
[[nodiscard]] std::vector<TokenId> continue_greedily(ForwardHarness& harness,
                                                     const std::vector<TokenId>& prompt,
                                                     int num_tokens);

}  // namespace paceline
