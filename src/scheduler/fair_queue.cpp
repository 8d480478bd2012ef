#include "scheduler/fair_queue.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"

namespace paceline {
namespace {

/// Heap order that keeps the least key in front; ties go to the lower tenant.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.key != b.key ? a.key > b.key : a.tenant > b.tenant;
};

}  // namespace

FairQueue::FairQueue(std::int64_t max_gap_tokens) : max_gap_(static_cast<double>(max_gap_tokens)) {}

void FairQueue::set_weight(TenantId tenant, double weight) {
  CHECK(weight > 0);
  make_known(tenant);
  state(tenant).weight = weight;
}

void FairQueue::enter(TenantId tenant) {
  make_known(tenant);
  State& s = state(tenant);
  if (s.num_live++ > 0) return;
  lift(s);
  active_.push_back(tenant);
}

void FairQueue::leave(TenantId tenant) {
  State& s = state(tenant);
  CHECK(s.num_live > 0);
  if (--s.num_live > 0) return;
  s.is_backlogged = false;
  s.is_held = false;
  idle_level_ = s.counter;
  *std::ranges::find(active_, tenant) = active_.back();
  active_.pop_back();
}

void FairQueue::push(TenantId tenant, const Place& place) {
  DCHECK(state(tenant).num_live > 0);
  state(tenant).waiting.insert(place);
  ++num_waiting_;
}

void FairQueue::erase(TenantId tenant, const Place& place) {
  CHECK(state(tenant).waiting.erase(place) == 1);
  --num_waiting_;
}

void FairQueue::charge(TenantId tenant, double tokens) {
  State& s = state(tenant);
  s.counter += tokens / s.weight;
  s.service_tokens += tokens;
}

void FairQueue::plan(TenantId tenant, double tokens) {
  State& s = state(tenant);
  if (s.planned == 0) planned_.push_back(tenant);
  s.planned += tokens;
}

void FairQueue::plan_next(double tokens) {
  std::ranges::pop_heap(round_, kLater);
  RoundEntry& entry = round_.back();
  plan(entry.tenant, tokens);
  entry.key = key_of(state(entry.tenant));
  std::ranges::push_heap(round_, kLater);
}

void FairQueue::drop_planned() {
  for (const TenantId tenant : planned_) state(tenant).planned = 0;
  planned_.clear();
}

void FairQueue::begin_round(std::span<const TenantId> also) {
  for (const RoundEntry& entry : round_) state(entry.tenant).in_round = false;
  round_.clear();
  for (const TenantId tenant : active_) {
    if (!state(tenant).waiting.empty()) join_round(tenant);
  }
  for (const TenantId tenant : also) join_round(tenant);
  std::ranges::make_heap(round_, kLater);
}

void FairQueue::join_round(TenantId tenant) {
  State& s = state(tenant);
  if (s.in_round || s.is_held) return;
  s.in_round = true;
  round_.push_back({key_of(s), tenant});
}

std::optional<TenantId> FairQueue::next() {
  if (round_.empty()) return std::nullopt;
  return round_.front().tenant;
}

void FairQueue::drop_next() {
  state(round_.front().tenant).in_round = false;
  std::ranges::pop_heap(round_, kLater);
  round_.pop_back();
}

void FairQueue::update_backlog(std::span<const TenantId> also) {
  for (const TenantId tenant : also) state(tenant).is_marked = true;
  double lowest = -kInfinity;  // that a newly backlogged counter may have
  double least = kInfinity;    // of the backlogged counters
  for (const TenantId tenant : active_) {
    State& s = state(tenant);
    s.is_marked = s.is_marked || !s.waiting.empty();
    s.is_backlogged = s.is_backlogged && s.is_marked;
    if (s.is_backlogged) least = std::min(least, s.counter);
    if (s.is_backlogged || !s.is_marked) lowest = std::max(lowest, s.counter - max_gap_of(s));
  }
  for (const TenantId tenant : active_) {
    State& s = state(tenant);
    if (s.is_marked && !s.is_backlogged) {
      s.counter = std::max(std::min(s.counter, least + max_gap_of(s)), lowest);
      s.is_backlogged = true;
      least = std::min(least, s.counter);
      lowest = std::max(lowest, s.counter - max_gap_of(s));
    }
    s.is_marked = false;
  }
}

std::optional<TenantId> FairQueue::update_held() {
  std::optional<TenantId> least;
  for (const TenantId tenant : active_) {
    const State& s = state(tenant);
    if (s.is_backlogged && (!least || s.counter < state(*least).counter)) least = tenant;
  }
  bool any_held = false;
  for (const TenantId tenant : active_) {
    State& s = state(tenant);
    s.is_held = least && s.counter - state(*least).counter > max_gap_of(s);
    any_held = any_held || s.is_held;
  }
  return any_held ? least : std::nullopt;
}

void FairQueue::clear_held() {
  for (const TenantId tenant : active_) state(tenant).is_held = false;
}

FairQueue::TenantView FairQueue::view(TenantId tenant) const {
  const State& s = state(tenant);
  return {tenant, s.weight, s.counter, s.service_tokens, s.is_backlogged, s.num_live > 0};
}

double FairQueue::gap() const {
  double least = kInfinity;
  double most = -kInfinity;
  for (const TenantId tenant : active_) {
    const State& s = state(tenant);
    if (!s.is_backlogged) continue;
    least = std::min(least, s.counter);
    most = std::max(most, s.counter);
  }
  return std::max(0.0, most - least);
}

void FairQueue::make_known(TenantId tenant) {
  if (index_of(tenant) >= states_.size()) states_.resize(index_of(tenant) + 1);
}

void FairQueue::lift(State& tenant) {
  double least = active_.empty() ? idle_level_ : kInfinity;
  for (const TenantId other : active_) least = std::min(least, state(other).counter);
  tenant.counter = std::max(tenant.counter, least);
  tenant.counter = std::min(tenant.counter, least_backlogged() + max_gap_of(tenant));
}

double FairQueue::least_backlogged() const {
  double least = kInfinity;
  for (const TenantId tenant : active_) {
    const State& s = state(tenant);
    if (s.is_backlogged) least = std::min(least, s.counter);
  }
  return least;
}

}  // namespace paceline
