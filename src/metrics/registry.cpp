#include "metrics/registry.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <mutex>

namespace paceline {
namespace {

prometheus::Labels to_prometheus(const MetricLabels& labels) {
  return {labels.begin(), labels.end()};
}

}  // namespace

void Counter::add(double amount) { series_->Increment(amount); }
double Counter::value() const { return series_->Value(); }

void Gauge::set(double value) { series_->Set(value); }
void Gauge::add(double amount) { series_->Increment(amount); }
double Gauge::value() const { return series_->Value(); }

void Histogram::observe(double value) { series_->Observe(value); }
double Histogram::count() const {
  return static_cast<double>(series_->Collect().histogram.sample_count);
}

struct MetricsRegistry::State {
  prometheus::Registry registry;
  std::mutex mutex;  // guards `refresh` and orders scrapes, since refreshing sets series
  std::vector<std::function<void()>> refresh;
};

MetricsRegistry::MetricsRegistry() : state_(std::make_unique<State>()) {}
MetricsRegistry::~MetricsRegistry() = default;

Counter MetricsRegistry::counter(std::string_view name, std::string_view help,
                                 const MetricLabels& labels) {
  auto& family = prometheus::BuildCounter()
                     .Name(std::string(name))
                     .Help(std::string(help))
                     .Register(state_->registry);
  return Counter(family.Add(to_prometheus(labels)));
}

Gauge MetricsRegistry::gauge(std::string_view name, std::string_view help,
                             const MetricLabels& labels) {
  auto& family = prometheus::BuildGauge()
                     .Name(std::string(name))
                     .Help(std::string(help))
                     .Register(state_->registry);
  return Gauge(family.Add(to_prometheus(labels)));
}

Histogram MetricsRegistry::histogram(std::string_view name, std::string_view help,
                                     std::span<const double> buckets, const MetricLabels& labels) {
  auto& family = prometheus::BuildHistogram()
                     .Name(std::string(name))
                     .Help(std::string(help))
                     .Register(state_->registry);
  return Histogram(
      family.Add(to_prometheus(labels), std::vector<double>(buckets.begin(), buckets.end())));
}

void MetricsRegistry::on_scrape(std::function<void()> refresh) {
  const std::lock_guard lock(state_->mutex);
  state_->refresh.push_back(std::move(refresh));
}

void MetricsRegistry::scrape(FunctionRef<void(const prometheus::Registry&)> read) const {
  const std::lock_guard lock(state_->mutex);
  for (const auto& refresh : state_->refresh) refresh();
  read(state_->registry);
}

}  // namespace paceline
