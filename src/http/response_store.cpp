#include "http/response_store.h"

#include <utility>

#include "metrics/http_metrics.h"

namespace paceline {
namespace {

tl::unexpected<Error> not_found() {
  return fail(ErrorCode::kResponseNotFound, "there is no response with this id");
}

}  // namespace

ResponseStore::Running::Running(ResponseStore& store, TenantId tenant, std::string id)
    : store_(store), tenant_(tenant), id_(std::move(id)) {}

ResponseStore::Running::~Running() {
  if (is_finished_) return;
  const std::lock_guard lock(store_.mutex_);
  store_.entries_.erase(id_);
}

void ResponseStore::Running::update(std::string json) {
  const std::lock_guard lock(store_.mutex_);
  if (Entry* entry = store_.find(tenant_, id_)) entry->json = std::move(json);
}

void ResponseStore::Running::finish(std::string json,
                                    std::shared_ptr<const Conversation> conversation) {
  is_finished_ = true;
  std::vector<EndListener> listeners;
  {
    const std::lock_guard lock(store_.mutex_);
    Entry* entry = store_.find(tenant_, id_);
    if (entry == nullptr) return;
    listeners = std::move(entry->listeners);
    entry->state = conversation ? State::kContinuable : State::kFailed;
    entry->json = json;
    entry->conversation = std::move(conversation);
    entry->cancel = nullptr;
    if (entry->is_kept) {
      store_.keep(id_, *entry);
    } else {
      store_.entries_.erase(id_);
    }
  }
  for (const EndListener& listener : listeners) listener(json);
}

ResponseStore::ResponseStore(const ResponseStoreOptions& options, HttpMetrics& metrics,
                             const Clock& clock)
    : options_(options), metrics_(metrics), clock_(clock) {}

std::unique_ptr<ResponseStore::Running> ResponseStore::add(TenantId tenant, std::string id,
                                                           bool is_kept, std::string json,
                                                           std::function<void()> cancel) {
  const std::lock_guard lock(mutex_);
  remove_expired(tenant);
  Entry entry;
  entry.tenant = tenant;
  entry.is_kept = is_kept;
  entry.json = std::move(json);
  entry.cancel = std::move(cancel);
  entries_.insert_or_assign(id, std::move(entry));
  return std::make_unique<Running>(*this, tenant, std::move(id));
}

Result<std::string> ResponseStore::get(TenantId tenant, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = find(tenant, id);
  if (entry == nullptr || !entry->is_kept) return not_found();
  return entry->json;
}

Result<std::shared_ptr<const Conversation>> ResponseStore::conversation(TenantId tenant,
                                                                        const std::string& id) {
  constexpr std::string_view kParam = "previous_response_id";
  const std::lock_guard lock(mutex_);
  const Entry* entry = find(tenant, id);
  if (entry != nullptr && entry->state == State::kRunning) {
    return fail(ErrorCode::kPreviousResponseInProgress, "the previous response is still running",
                std::string(kParam));
  }
  if (entry == nullptr || entry->state == State::kFailed) {
    return fail(ErrorCode::kPreviousResponseNotFound,
                entry == nullptr ? "there is no response with this id"
                                 : "the previous response failed and cannot be continued",
                std::string(kParam));
  }
  return entry->conversation;
}

Result<void> ResponseStore::remove(TenantId tenant, const std::string& id) {
  std::function<void()> cancel;
  {
    const std::lock_guard lock(mutex_);
    Entry* entry = find(tenant, id);
    if (entry == nullptr || !entry->is_kept) return not_found();
    if (entry->state == State::kRunning) {
      entry->is_kept = false;  // goes away with its end
      cancel = entry->cancel;
    } else {
      erase_ended(id);
    }
  }
  if (cancel) cancel();
  return {};
}

Result<void> ResponseStore::cancel(TenantId tenant, const std::string& id, EndListener on_end) {
  std::function<void()> cancel;
  std::string json;
  {
    const std::lock_guard lock(mutex_);
    Entry* entry = find(tenant, id);
    if (entry == nullptr) return not_found();
    if (entry->state == State::kRunning) {
      entry->listeners.push_back(std::move(on_end));
      cancel = entry->cancel;
    } else {
      json = entry->json;
    }
  }
  if (cancel) {
    cancel();
  } else {
    on_end(json);
  }
  return {};
}

bool ResponseStore::cancel_running(TenantId tenant, const std::string& id) {
  std::function<void()> cancel;
  {
    const std::lock_guard lock(mutex_);
    const Entry* entry = find(tenant, id);
    if (entry == nullptr || entry->state != State::kRunning) return false;
    cancel = entry->cancel;
  }
  cancel();
  return true;
}

ResponseStore::Entry* ResponseStore::find(TenantId tenant, const std::string& id) {
  remove_expired(tenant);
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.tenant != tenant) return nullptr;
  Entry& entry = found->second;
  if (entry.state != State::kRunning) {
    auto& ended = tenants_[tenant].ended;
    ended.splice(ended.begin(), ended, entry.place);
  }
  return &entry;
}

/// Makes an ended response one of those kept, and gives up the least recently used above the
/// bounds.
void ResponseStore::keep(const std::string& id, Entry& entry) {
  const std::size_t conversation = entry.conversation ? conversation_bytes(*entry.conversation) : 0;
  entry.bytes = entry.json.size() + conversation;
  entry.expires_at = clock_.now() + options_.ttl;
  TenantResponses& responses = tenants_[entry.tenant];
  responses.ended.push_front(id);
  responses.bytes += entry.bytes;
  entry.place = responses.ended.begin();
  metrics_.stored_responses.add(1);
  metrics_.stored_response_bytes.add(static_cast<double>(entry.bytes));
  while (responses.ended.size() > options_.max_stored) {
    metrics_.stored_responses_evicted[StoreEviction::kCount].add();
    erase_ended(responses.ended.back());
  }
  while (responses.bytes > options_.max_stored_bytes) {
    metrics_.stored_responses_evicted[StoreEviction::kBytes].add();
    erase_ended(responses.ended.back());
  }
}

void ResponseStore::erase_ended(const std::string& id) {
  const auto found = entries_.find(id);
  TenantResponses& responses = tenants_[found->second.tenant];
  metrics_.stored_responses.add(-1);
  metrics_.stored_response_bytes.add(-static_cast<double>(found->second.bytes));
  responses.bytes -= found->second.bytes;
  responses.ended.erase(found->second.place);
  entries_.erase(found);
}

/// The order of the list is that of use, not of age, so all of the tenant's are looked at: at most
/// max_stored.
void ResponseStore::remove_expired(TenantId tenant) {
  const auto responses = tenants_.find(tenant);
  if (responses == tenants_.end()) return;
  const TimePoint now = clock_.now();
  auto& ended = responses->second.ended;
  for (auto it = ended.begin(); it != ended.end();) {
    const std::string& id = *it++;
    if (entries_.at(id).expires_at > now) continue;
    metrics_.stored_responses_evicted[StoreEviction::kTtl].add();
    erase_ended(id);
  }
}

}  // namespace paceline
