#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/ids.h"

namespace paceline {

/// Service of one token, in virtual tokens: computed prompt tokens, generated tokens.
inline constexpr double kInputTokenCost = 1;
inline constexpr double kOutputTokenCost = 2;

/// Who of the waiting goes next: between tenants the least served, inside a tenant preempted
/// sequences, then priority, then arrival. Service is counted by one virtual token counter per
/// tenant, service / weight (VTC, arXiv 2401.00588, Alg. 2). Owned by the Scheduler; engine thread.
///
/// A tenant is *active* while it has a live sequence; when it becomes active its counter is lifted
/// to the least of the active ones. It is *backlogged* while a runnable sequence of it is held
/// back; when it becomes backlogged its counter is brought within max_gap of the others', so that
/// service taken or missed without competition counts for one gap at most. An active tenant that
/// is more than max_gap tokens (of its own: divided by its weight) ahead of the least served
/// backlogged one is *held*: it gets nothing until the other has caught up. So no tenant gets
/// further ahead of a backlogged one than (max_gap + one step's charge) / its weight.
class FairQueue {
 public:
  /// Place inside a tenant; lower goes first.
  struct Place {
    bool is_fresh = true;  ///< never preempted
    int priority = 0;
    std::uint64_t arrival = 0;
    SequenceId sequence{};
    auto operator<=>(const Place&) const = default;
  };

  explicit FairQueue(std::int64_t max_gap_tokens);

  /// Requires: weight > 0.
  void set_weight(TenantId tenant, double weight);
  /// Counts one more live sequence of the tenant; the first makes it active.
  void enter(TenantId tenant);
  /// Counts one fewer.
  void leave(TenantId tenant);
  void push(TenantId tenant, const Place& place);
  /// Requires: pushed and not erased since.
  void erase(TenantId tenant, const Place& place);

  /// Adds service to the tenant's counter: tokens times their cost.
  void charge(TenantId tenant, double tokens);
  /// Counts service of the step being planned, until drop_planned(); rounds begun later see it.
  void plan(TenantId tenant, double tokens);
  void drop_planned();

  /// Starts the choice of a step: all tenants with a waiting sequence, and those in `also`
  /// (repetitions allowed), that are not held.
  void begin_round(std::span<const TenantId> also);
  /// Tenant of the round with the least counter, planned service included; nothing when none is
  /// left.
  [[nodiscard]] std::optional<TenantId> next();
  /// plan() for the tenant returned by next(), which may then no longer be the least served.
  void plan_next(double tokens);
  /// Takes the tenant returned by next() out of the round.
  void drop_next();

  /// Ends a step's choice: tenants with a waiting sequence and those in `also` are backlogged.
  void update_backlog(std::span<const TenantId> also);
  /// Decides anew which tenants are held. Returns the least served backlogged tenant when any is
  /// held.
  std::optional<TenantId> update_held();
  void clear_held();
  [[nodiscard]] bool is_held(TenantId tenant) const { return state(tenant).is_held; }

  struct TenantView {
    TenantId tenant{};
    double weight = 1;
    double counter = 0;
    double service_tokens = 0;
    bool is_backlogged = false;
    bool is_active = false;
  };
  [[nodiscard]] TenantView view(TenantId tenant) const;
  /// Tenants ever named, as indices 0 … num_tenants-1.
  [[nodiscard]] std::size_t num_tenants() const { return states_.size(); }
  [[nodiscard]] int num_waiting() const { return num_waiting_; }
  /// The tenant's waiting sequences in order.
  [[nodiscard]] const std::set<Place>& waiting(TenantId tenant) const {
    return state(tenant).waiting;
  }
  /// Largest difference between the counters of two backlogged tenants.
  [[nodiscard]] double gap() const;

 private:
  struct State {
    double weight = 1;
    double counter = 0;
    double planned = 0;  ///< tokens of the step being planned, not divided
    double service_tokens = 0;
    int num_live = 0;
    bool is_backlogged = false;
    bool is_held = false;
    bool in_round = false;
    bool is_marked = false;  ///< scratch of update_backlog
    std::set<Place> waiting;
  };
  struct RoundEntry {
    double key;
    TenantId tenant;
  };

  [[nodiscard]] State& state(TenantId tenant) { return states_[index_of(tenant)]; }
  [[nodiscard]] const State& state(TenantId tenant) const { return states_[index_of(tenant)]; }
  [[nodiscard]] static double key_of(const State& s) { return s.counter + s.planned / s.weight; }
  /// How far ahead of a backlogged tenant this one may get, in units of the counter.
  [[nodiscard]] double max_gap_of(const State& s) const { return max_gap_ / s.weight; }
  void make_known(TenantId tenant);
  void join_round(TenantId tenant);
  void lift(State& tenant);
  [[nodiscard]] double least_backlogged() const;

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  const double max_gap_;
  std::vector<State> states_;      ///< by tenant
  std::vector<TenantId> active_;   ///< in no order
  std::vector<TenantId> planned_;  ///< tenants with planned service
  std::vector<RoundEntry> round_;  ///< heap, least key first
  double idle_level_ = 0;          ///< counter of the tenant that left last
  int num_waiting_ = 0;
};

}  // namespace paceline
