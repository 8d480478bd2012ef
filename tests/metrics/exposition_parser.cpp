#include "tests/metrics/exposition_parser.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

namespace paceline {
namespace {

bool is_name(std::string_view name, bool colon_allowed) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
  for (const char c : name) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (!word && !(colon_allowed && c == ':')) return false;
  }
  return true;
}

// One `name{labels} value` line in parts. `labels` keeps its text without the `le` label.
struct Sample {
  std::string name;
  std::string labels;
  std::string le;
  double value = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Exposition run() {
    if (text_.empty() || text_.back() != '\n') error("does not end with a newline");
    std::size_t pos = 0;
    while (pos < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', pos), text_.size());
      line_ = text_.substr(pos, end - pos);
      read_line();
      pos = end + 1;
    }
    for (const auto& [name, family] : out_.families) check_family(name, family);
    return std::move(out_);
  }

 private:
  void error(std::string what) {
    out_.errors.push_back(std::move(what) + ": " + std::string(line_));
  }

  void read_line() {
    if (line_.starts_with("# HELP ")) {
      read_comment(7, &Exposition::Family::help);
    } else if (line_.starts_with("# TYPE ")) {
      read_comment(7, &Exposition::Family::type);
    } else if (line_.empty() || line_.front() == '#') {
      error("neither HELP, TYPE nor sample");
    } else {
      read_sample();
    }
  }

  void read_comment(std::size_t start, std::string Exposition::Family::*field) {
    const std::size_t space = line_.find(' ', start);
    if (space == std::string_view::npos) return error("no text");
    current_ = std::string(line_.substr(start, space - start));
    if (!is_name(current_, true)) error("bad family name");
    std::string& value = out_.families[current_].*field;
    if (!value.empty()) error("second HELP or TYPE");
    value = line_.substr(space + 1);
    if (value.empty()) error("empty HELP or TYPE");
  }

  // Reads `name="value"` pairs up to the closing brace; returns the position behind it.
  std::size_t read_labels(std::size_t pos, Sample& sample) {
    std::set<std::string> seen;
    while (pos < line_.size() && line_[pos] != '}') {
      const std::size_t equals = line_.find('=', pos);
      if (equals == std::string_view::npos) return pos;
      const std::string name(line_.substr(pos, equals - pos));
      if (!is_name(name, false)) error("bad label name");
      if (!seen.insert(name).second) error("label twice");
      if (equals + 1 >= line_.size() || line_[equals + 1] != '"') return pos;
      std::size_t end = equals + 2;
      while (end < line_.size() && line_[end] != '"') {
        if (line_[end] == '\\') {
          ++end;
          if (end >= line_.size() ||
              std::string_view("\\\"n").find(line_[end]) == std::string::npos) {
            error("bad escape");
          }
        }
        ++end;
      }
      const std::string value(line_.substr(equals + 2, end - equals - 2));
      if (name == "le") {
        sample.le = value;
      } else {
        sample.labels += (sample.labels.empty() ? "" : ",") + name + "=\"" + value + '"';
      }
      pos = end + 1;
      if (pos < line_.size() && line_[pos] == ',') ++pos;
    }
    return pos + 1;
  }

  void read_sample() {
    Sample sample;
    std::size_t pos = line_.find_first_of("{ ");
    if (pos == std::string_view::npos) return error("sample without value");
    sample.name = line_.substr(0, pos);
    if (!is_name(sample.name, true)) error("bad sample name");
    if (line_[pos] == '{') pos = read_labels(pos + 1, sample);
    if (pos >= line_.size() || line_[pos] != ' ') return error("no space before the value");
    const std::string number(line_.substr(pos + 1));
    char* end = nullptr;
    sample.value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0') error("bad value");
    if (!std::isfinite(sample.value)) error("value is not finite");
    store(sample);
  }

  void store(const Sample& sample) {
    auto& family = out_.families[current_];
    const bool histogram = family.type == "histogram";
    const bool own = histogram
                         ? (sample.name == current_ + "_bucket" ||
                            sample.name == current_ + "_sum" || sample.name == current_ + "_count")
                         : sample.name == current_;
    if (!own) error("sample outside its family");
    if ((sample.name == current_ + "_bucket" && histogram) != !sample.le.empty()) {
      error("le label where it must not be, or missing");
    }
    std::string key = sample.labels;
    if (!sample.le.empty()) key += (key.empty() ? "" : ",") + ("le=\"" + sample.le + '"');
    if (!family.samples[sample.name].emplace(key, sample.value).second) error("series twice");
    if (!sample.le.empty()) {
      buckets_[current_ + '{' + sample.labels].emplace_back(
          sample.le == "+Inf" ? std::numeric_limits<double>::infinity() : std::stod(sample.le),
          sample.value);
    }
  }

  void check_family(const std::string& name, const Exposition::Family& family) {
    line_ = name;
    if (family.help.empty() || family.type.empty()) error("HELP or TYPE missing");
    if (family.samples.empty()) error("family without series");
    if (family.type == "counter" && !name.ends_with("_total")) error("counter without _total");
    if (family.type == "counter") {
      for (const auto& [labels, value] : family.samples.begin()->second) {
        if (value < 0) error("negative counter");
      }
    }
    if (family.type == "histogram") check_histogram(name, family);
  }

  void check_histogram(const std::string& name, const Exposition::Family& family) {
    for (const auto& [labels, count] : family.samples.at(name + "_count")) {
      const auto& buckets = buckets_[name + '{' + labels];
      for (std::size_t i = 1; i < buckets.size(); ++i) {
        if (buckets[i].first <= buckets[i - 1].first) error("bounds do not rise");
        if (buckets[i].second < buckets[i - 1].second) error("bucket counts fall");
      }
      if (buckets.empty() || !std::isinf(buckets.back().first)) {
        error("no +Inf bucket");
      } else if (buckets.back().second != count) {
        error("+Inf bucket is not the count");
      }
      const auto sum = family.samples.at(name + "_sum").find(labels);
      if (sum == family.samples.at(name + "_sum").end()) {
        error("no sum");
      } else if (count == 0 && sum->second != 0) {
        error("sum without observations");
      }
    }
  }

  std::string_view text_;
  std::string_view line_;
  std::string current_;
  std::map<std::string, std::vector<std::pair<double, double>>> buckets_;
  Exposition out_;
};

}  // namespace

double Exposition::value(std::string_view series) const {
  const std::size_t brace = series.find('{');
  const std::string name(series.substr(0, brace));
  const std::string labels(brace == std::string_view::npos
                               ? std::string_view()
                               : series.substr(brace + 1, series.size() - brace - 2));
  for (const auto& [family_name, family] : families) {
    const auto by_name = family.samples.find(name);
    if (by_name == family.samples.end()) continue;
    const auto found = by_name->second.find(labels);
    if (found != by_name->second.end()) return found->second;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Exposition parse_exposition(std::string_view text) { return Parser(text).run(); }

}  // namespace paceline
