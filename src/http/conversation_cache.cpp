#include "http/conversation_cache.h"

#include <utility>

namespace paceline {

std::size_t conversation_bytes(const Conversation& conversation) {
  std::size_t bytes = 0;
  for (const auto& item : conversation) bytes += openai::stored_bytes(item);
  return bytes;
}

ConversationCache::ConversationCache(std::size_t max_entries, std::size_t max_bytes)
    : max_entries_(max_entries), max_bytes_(max_bytes) {}

void ConversationCache::add(std::string response_id,
                            std::shared_ptr<const Conversation> conversation) {
  const std::size_t bytes = conversation_bytes(*conversation);
  if (bytes > max_bytes_ || max_entries_ == 0) return;
  entries_.push_front({std::move(response_id), std::move(conversation), bytes});
  by_id_.insert_or_assign(entries_.front().response_id, entries_.begin());
  bytes_ += bytes;
  while (entries_.size() > max_entries_ || bytes_ > max_bytes_) remove_oldest();
}

std::shared_ptr<const Conversation> ConversationCache::find(const std::string& response_id) {
  const auto found = by_id_.find(response_id);
  if (found == by_id_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->conversation;
}

void ConversationCache::remove_oldest() {
  bytes_ -= entries_.back().bytes;
  by_id_.erase(entries_.back().response_id);
  entries_.pop_back();
}

}  // namespace paceline
