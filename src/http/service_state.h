#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "chat/chat_template.h"
#include "engine/engine.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

/// The model behind the API, complete: what the app installs once it is loaded. Immutable.
struct ServedModel {
  std::string id;                         ///< canonical name, `model.name`
  std::vector<std::string> aliases = {};  ///< further names clients may use
  std::int64_t created = 0;               ///< Unix seconds, for /v1/models
  int max_context = 0;                    ///< tokens of prompt and output together
  int max_kv_tokens = 0;                  ///< tokens the whole KV pool holds
  std::string system_fingerprint;         ///< `fp_` + 12 hex
  std::string isa;                        ///< instruction set, for /version
  std::string weights;                    ///< `int8`, `int4` or `f32`
  std::string kv;                         ///< type of the KV cache
  SamplingParams sampling_defaults = {};  ///< `sampling.*`
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;
  std::shared_ptr<Engine> engine;

  /// Whether `name` is this model's id or one of its aliases.
  [[nodiscard]] bool is_called(std::string_view name) const;
};

/// Where the service is in its life, as /ready tells it.
enum class ServiceStatus { kLoading, kReady, kDraining, kStalled };
[[nodiscard]] std::string_view to_string(ServiceStatus status);

/// Connects the app's life with the server: the server listens before a model is there and goes on
/// answering while work drains. Also counts generation work in progress, which is what a drain
/// waits for. Owned by the app, outlives the server. Any thread.
class ServiceState {
 public:
  /// One piece of generation work in progress; given back by its destructor.
  class Work {
   public:
    explicit Work(ServiceState& state);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    ServiceState& state_;
  };

  explicit ServiceState(const Clock& clock);

  /// Makes the service ready. Called once.
  void install(std::shared_ptr<const ServedModel> model);
  /// Refuses new generation work from now on; accepted work fails at `deadline`. Repeated calls
  /// only shorten the deadline.
  void drain(TimePoint deadline);

  [[nodiscard]] ServiceStatus status() const;
  /// Null while loading.
  [[nodiscard]] std::shared_ptr<const ServedModel> model() const;
  /// The model if new generation work may begin. Errors: kModelLoading, kServerDraining.
  [[nodiscard]] Result<std::shared_ptr<const ServedModel>> accepting_model() const;

  /// Blocks until a drain has begun and no generation work is left, or the drain's deadline plus
  /// `grace` has passed.
  void wait_until_drained(Duration grace);

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const ServedModel> model_;
  std::optional<TimePoint> drain_deadline_;
  int num_work_ = 0;
};

}  // namespace paceline
