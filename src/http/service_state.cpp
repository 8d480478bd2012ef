#include "http/service_state.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {

bool ServedModel::is_called(std::string_view name) const {
  return name == id || std::find(aliases.begin(), aliases.end(), name) != aliases.end();
}

std::string_view to_string(ServiceStatus status) {
  switch (status) {
    case ServiceStatus::kLoading:
      return "loading";
    case ServiceStatus::kReady:
      return "ready";
    case ServiceStatus::kDraining:
      return "draining";
    case ServiceStatus::kStalled:
      return "stalled";
  }
  return "stalled";
}

ServiceState::Work::Work(ServiceState& state) : state_(state) {
  const std::lock_guard lock(state_.mutex_);
  ++state_.num_work_;
}

ServiceState::Work::~Work() {
  const std::lock_guard lock(state_.mutex_);
  if (--state_.num_work_ == 0) state_.changed_.notify_all();
}

ServiceState::ServiceState(const Clock& clock) : clock_(clock) {}

void ServiceState::install(std::shared_ptr<const ServedModel> model) {
  CHECK(model != nullptr);
  const std::lock_guard lock(mutex_);
  CHECK(model_ == nullptr);
  model_ = std::move(model);
}

void ServiceState::drain(TimePoint deadline) {
  std::shared_ptr<const ServedModel> model;
  {
    const std::lock_guard lock(mutex_);
    drain_deadline_ = drain_deadline_ ? std::min(*drain_deadline_, deadline) : deadline;
    deadline = *drain_deadline_;
    model = model_;
  }
  changed_.notify_all();
  if (model) model->engine->drain(deadline);
}

ServiceStatus ServiceState::status() const {
  std::shared_ptr<const ServedModel> model;
  {
    const std::lock_guard lock(mutex_);
    if (drain_deadline_) return ServiceStatus::kDraining;
    if (!model_) return ServiceStatus::kLoading;
    model = model_;
  }
  const auto snapshot = model->engine->snapshot();
  const Duration since_step = clock_.now() - snapshot->last_step_at;
  const bool is_stalled = snapshot->has_work && since_step > model->engine->options().stall_timeout;
  return is_stalled || !snapshot->healthy ? ServiceStatus::kStalled : ServiceStatus::kReady;
}

std::shared_ptr<const ServedModel> ServiceState::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

Result<std::shared_ptr<const ServedModel>> ServiceState::accepting_model() const {
  const std::lock_guard lock(mutex_);
  if (drain_deadline_) return fail(ErrorCode::kServerDraining, "the server is shutting down");
  if (!model_) return fail(ErrorCode::kModelLoading, "the model is still loading");
  return model_;
}

void ServiceState::wait_until_drained(Duration grace) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return drain_deadline_.has_value(); });
  // A repeated drain shortens the deadline, so it is read again after every wake-up.
  while (num_work_ > 0 && clock_.now() < *drain_deadline_ + grace) {
    changed_.wait_until(lock, *drain_deadline_ + grace);
  }
}

}  // namespace paceline
