#include "tests/model/reference_ids.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace paceline {

std::vector<std::vector<TokenId>> read_id_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::vector<TokenId>> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream text(line);
    std::vector<TokenId>& ids = lines.emplace_back();
    for (int id = 0; text >> id;) ids.push_back(TokenId{id});
  }
  return lines;
}

std::vector<TokenId> continue_greedily(ForwardHarness& harness, const std::vector<TokenId>& prompt,
                                       int num_tokens) {
  std::vector<TokenId> tokens = prompt;
  const auto blocks = harness.blocks(static_cast<int>(prompt.size()) + num_tokens, 0);
  int start = 0;
  while (tokens.size() < prompt.size() + static_cast<std::size_t>(num_tokens)) {
    const int count = static_cast<int>(tokens.size()) - start;
    const auto rows =
        harness.step({{.tokens = tokens, .start = start, .count = count, .blocks = blocks}});
    const auto best = std::max_element(rows.back().begin(), rows.back().end());
    start += count;
    tokens.push_back(TokenId{static_cast<std::int32_t>(best - rows.back().begin())});
  }
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()));
  return tokens;
}

}  // namespace paceline
