#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Gives one input to the parser under test; returns 0. libFuzzer's entry point.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace paceline {

/// Good inputs of this target, which the replay mutates.
[[nodiscard]] std::vector<std::string> fuzz_seeds();

}  // namespace paceline
