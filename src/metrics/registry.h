#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "metrics/metric_labels.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
}  // namespace prometheus

namespace paceline {

// Handles of single series. They are cheap values that point into the registry, which must outlive
// them; every operation may come from any thread. A default-made handle belongs to no series and
// must be assigned before use.

/// Series that only rises.
class Counter {
 public:
  Counter() = default;
  explicit Counter(prometheus::Counter& series) : series_(&series) {}
  /// Requires: amount >= 0; other values are ignored.
  void add(double amount = 1);
  [[nodiscard]] double value() const;

 private:
  prometheus::Counter* series_ = nullptr;
};

/// Series that rises and falls.
class Gauge {
 public:
  Gauge() = default;
  explicit Gauge(prometheus::Gauge& series) : series_(&series) {}
  void set(double value);
  void add(double amount);
  [[nodiscard]] double value() const;

 private:
  prometheus::Gauge* series_ = nullptr;
};

/// Series of observations counted by bucket.
class Histogram {
 public:
  Histogram() = default;
  explicit Histogram(prometheus::Histogram& series) : series_(&series) {}
  void observe(double value);
  /// Number of observations so far.
  [[nodiscard]] double count() const;

 private:
  prometheus::Histogram* series_ = nullptr;
};

/// Label names and values of one series.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// One series per value of a fixed label list; all exist from the start.
template <typename Enum, typename Series>
class PerLabel {
 public:
  Series& operator[](Enum value) { return series_[static_cast<std::size_t>(value)]; }
  const Series& operator[](Enum value) const { return series_[static_cast<std::size_t>(value)]; }

 private:
  std::array<Series, kNumLabelValues<Enum>> series_;
};

/// Owns every metric family of the process. Names and label names are checked when a family is
/// made; a bad one ends the process, since none of them comes from input. Owned by the app; made
/// before and destroyed after everything that counts. Any thread.
class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;

  /// Returns the series with these labels; the family is made on first use, later help texts are
  /// ignored.
  Counter counter(std::string_view name, std::string_view help, const MetricLabels& labels = {});
  Gauge gauge(std::string_view name, std::string_view help, const MetricLabels& labels = {});
  /// `buckets`: rising upper bounds; +Inf is added.
  Histogram histogram(std::string_view name, std::string_view help, std::span<const double> buckets,
                      const MetricLabels& labels = {});

  /// Makes one counter per value of the list, labelled `label`, beside `common` labels.
  template <typename Enum>
  PerLabel<Enum, Counter> counters(std::string_view name, std::string_view help,
                                   std::string_view label, const MetricLabels& common = {}) {
    PerLabel<Enum, Counter> out;
    for_each_value<Enum>(label, common, [&](Enum value, const MetricLabels& labels) {
      out[value] = counter(name, help, labels);
    });
    return out;
  }
  /// Makes one gauge per value of the list.
  template <typename Enum>
  PerLabel<Enum, Gauge> gauges(std::string_view name, std::string_view help, std::string_view label,
                               const MetricLabels& common = {}) {
    PerLabel<Enum, Gauge> out;
    for_each_value<Enum>(label, common, [&](Enum value, const MetricLabels& labels) {
      out[value] = gauge(name, help, labels);
    });
    return out;
  }
  /// Makes one histogram per value of the list.
  template <typename Enum>
  PerLabel<Enum, Histogram> histograms(std::string_view name, std::string_view help,
                                       std::span<const double> buckets, std::string_view label,
                                       const MetricLabels& common = {}) {
    PerLabel<Enum, Histogram> out;
    for_each_value<Enum>(label, common, [&](Enum value, const MetricLabels& labels) {
      out[value] = histogram(name, help, buckets, labels);
    });
    return out;
  }

  /// Calls `refresh` before every scrape, for values that are read rather than counted. Whatever it
  /// refers to must outlive the last scrape. Requires: no scrape has happened yet.
  void on_scrape(std::function<void()> refresh);

  /// Calls `read` with all families, refreshed; one scrape at a time.
  void scrape(FunctionRef<void(const prometheus::Registry&)> read) const;

 private:
  template <typename Enum, typename Make>
  static void for_each_value(std::string_view label, const MetricLabels& common, Make make) {
    for (std::size_t i = 0; i < kNumLabelValues<Enum>; ++i) {
      MetricLabels labels = common;
      labels.emplace_back(label, LabelValues<Enum>::names[i]);
      make(static_cast<Enum>(i), labels);
    }
  }

  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace paceline
