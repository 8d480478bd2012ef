#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "http/conversation_cache.h"
#include "http/response_store_options.h"

namespace paceline {

class HttpMetrics;

/// Responses by id: the running ones of every transport, so that they can be seen and cancelled,
/// and the finished ones that are to be kept, each with its whole conversation. In memory only; a
/// tenant sees its own responses and nothing else. Owned by the server. Any thread.
class ResponseStore {
 public:
  /// Told once, on the thread that ends the response, with its final object.
  using EndListener = std::function<void(const std::string& json)>;

  /// A running response, from response.created to its end. Ends as if it had never been stored when
  /// it is destroyed first. One thread.
  class Running {
   public:
    Running(ResponseStore& store, TenantId tenant, std::string id);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    /// Replaces the object that is shown.
    void update(std::string json);
    /// Ends the response. `conversation` null: it failed and cannot be continued.
    void finish(std::string json, std::shared_ptr<const Conversation> conversation);

   private:
    ResponseStore& store_;
    const TenantId tenant_;
    const std::string id_;
    bool is_finished_ = false;
  };

  ResponseStore(const ResponseStoreOptions& options, HttpMetrics& metrics, const Clock& clock);
  ResponseStore(const ResponseStore&) = delete;
  ResponseStore& operator=(const ResponseStore&) = delete;

  /// Adds a running response. `is_kept` (field `store`): it can be seen, and stays after its end.
  /// `cancel` may be called on any thread, several times, until the response has ended.
  [[nodiscard]] std::unique_ptr<Running> add(TenantId tenant, std::string id, bool is_kept,
                                             std::string json, std::function<void()> cancel);

  /// Returns the object. Errors: kResponseNotFound.
  [[nodiscard]] Result<std::string> get(TenantId tenant, const std::string& id);
  /// Returns the conversation to be continued. Errors: kPreviousResponseNotFound for an unknown,
  /// foreign, evicted or failed response; kPreviousResponseInProgress.
  [[nodiscard]] Result<std::shared_ptr<const Conversation>> conversation(TenantId tenant,
                                                                         const std::string& id);
  /// Forgets a response; a running one is cancelled. Errors: kResponseNotFound.
  [[nodiscard]] Result<void> remove(TenantId tenant, const std::string& id);
  /// Cancels a running response, kept or not, and tells `on_end` when it has ended; a finished one
  /// is told at once. Errors: kResponseNotFound.
  [[nodiscard]] Result<void> cancel(TenantId tenant, const std::string& id, EndListener on_end);
  /// Cancels a running response; false when there is none with this id.
  bool cancel_running(TenantId tenant, const std::string& id);

 private:
  enum class State { kRunning, kContinuable, kFailed };
  struct Entry {
    TenantId tenant{};
    State state = State::kRunning;
    bool is_kept = false;
    std::string json;
    std::shared_ptr<const Conversation> conversation = {};
    std::size_t bytes = 0;
    TimePoint expires_at{};
    std::list<std::string>::iterator place = {};  // in the tenant's list, once it has ended
    std::function<void()> cancel = {};
    std::vector<EndListener> listeners = {};
  };
  struct TenantResponses {
    std::list<std::string> ended;  // ids, most recently used first
    std::size_t bytes = 0;
  };
  using Entries = std::unordered_map<std::string, Entry>;

  // All of them with the mutex held.
  [[nodiscard]] Entry* find(TenantId tenant, const std::string& id);
  void keep(const std::string& id, Entry& entry);
  void erase_ended(const std::string& id);
  void remove_expired(TenantId tenant);

  const ResponseStoreOptions options_;
  HttpMetrics& metrics_;
  const Clock& clock_;
  std::mutex mutex_;
  Entries entries_;
  std::unordered_map<TenantId, TenantResponses> tenants_;
};

}  // namespace paceline
