#include "tokenizer/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace paceline {
namespace {

// Source: Knuth, Morris, Pratt, "Fast pattern matching in strings", 1977.
std::vector<std::size_t> borders_of(std::string_view text) {
  std::vector<std::size_t> borders(text.size(), 0);
  for (std::size_t i = 1; i < text.size(); ++i) {
    std::size_t length = borders[i - 1];
    while (length > 0 && text[i] != text[length]) length = borders[length - 1];
    if (text[i] == text[length]) ++length;
    borders[i] = length;
  }
  return borders;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  stops_.reserve(stops.size());
  for (std::string& text : stops) {
    CHECK(!text.empty());
    std::vector<std::size_t> borders = borders_of(text);
    stops_.push_back({std::move(text), std::move(borders)});
  }
}

void StopMatcher::Stop::advance(char c) {
  while (num_matched > 0 && text[num_matched] != c) num_matched = borders[num_matched - 1];
  if (text[num_matched] == c) ++num_matched;
}

std::string StopMatcher::append(std::string_view text) {
  if (matched_) return {};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const Stop* found = nullptr;
    for (Stop& stop : stops_) {
      stop.advance(text[i]);
      const bool is_better = found == nullptr || stop.text.size() > found->text.size();
      if (stop.is_complete() && is_better) found = &stop;
    }
    if (found == nullptr) continue;
    matched_ = static_cast<std::size_t>(found - stops_.data());
    held_ += text.substr(0, i + 1);
    held_.resize(held_.size() - found->text.size());
    return std::exchange(held_, std::string());
  }
  held_ += text;
  std::size_t num_held = 0;
  for (const Stop& stop : stops_) num_held = std::max(num_held, stop.num_matched);
  std::string shown = held_.substr(0, held_.size() - num_held);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopMatcher::flush() { return std::exchange(held_, std::string()); }

}  // namespace paceline
