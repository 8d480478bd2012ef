// Runs a fuzz target without libFuzzer: on the files given, or else on its seeds and a fixed number
// of mutations of each, the same in every run. `--verbose` names each input before it is tried, so
// that the last name is the one that failed.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace {

constexpr int kMutationsPerSeed = 1500;
/// Headers lie at the front, so most mutations go there.
constexpr std::size_t kFrontBytes = 16384;

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

/// Changes one place of an input.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  void mutate(std::string& input) {
    if (input.empty()) return;
    const std::size_t at = place(input.size());
    switch (below(6)) {
      case 0:
        input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:
        input[at] = static_cast<char>(below(256));
        break;
      case 2:
        overwrite_number(input, at);
        break;
      case 3:
        input.resize(at);
        break;
      case 4:
        input.erase(at, 1 + below(16));
        break;
      default:
        input.insert(at, input.substr(place(input.size()), 1 + below(16)));
        break;
    }
  }

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

 private:
  std::size_t place(std::size_t size) {
    return below(below(4) == 0 ? size : std::min(size, kFrontBytes));
  }

  /// Puts an integer at the edge of some type over 4 or 8 bytes.
  void overwrite_number(std::string& input, std::size_t at) {
    constexpr std::array<std::uint64_t, 10> kEdges = {
        0,          1,       0x7fffffff, 0x80000000,         0xffffffff,
        1ULL << 32, 1 << 16, 1ULL << 40, 0x7fffffffffffffff, 0xffffffffffffffff};
    const std::uint64_t value = kEdges[below(kEdges.size())];
    const std::size_t size = std::min<std::size_t>(below(2) == 0 ? 4 : 8, input.size() - at);
    std::memcpy(input.data() + at, &value, size);
  }

  std::mt19937_64 random_;
};

void replay_seeds(bool verbose) {
  const std::vector<std::string> seeds = paceline::fuzz_seeds();
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    run(seeds[i]);
    for (int j = 0; j < kMutationsPerSeed; ++j) {
      if (verbose) std::fprintf(stderr, "seed %zu mutation %d\n", i, j);
      Mutator mutator(i * 1'000'003 + static_cast<std::uint64_t>(j));
      std::string input = seeds[i];
      const std::size_t num_changes = 1 + mutator.below(4);
      for (std::size_t k = 0; k < num_changes; ++k) mutator.mutate(input);
      run(input);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool verbose = false;
  bool has_files = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--verbose") {
      verbose = true;
      continue;
    }
    has_files = true;
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot open %s\n", argv[i]);
      return 1;
    }
    run({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  }
  if (!has_files) replay_seeds(verbose);
  return 0;
}
