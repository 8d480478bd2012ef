#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "http/openai/conversation_item.h"

namespace paceline {

/// All items of a conversation, input and output; shared because it is never changed.
using Conversation = std::vector<openai::ConversationItem>;

/// Bytes a conversation is counted with.
[[nodiscard]] std::size_t conversation_bytes(const Conversation& conversation);

/// The newest finished responses of one WebSocket connection, so that they can be continued without
/// being stored; least recently used first out. Confined to the connection's strand.
class ConversationCache {
 public:
  ConversationCache(std::size_t max_entries, std::size_t max_bytes);

  /// Adds a conversation under the id of its last response. One that is larger than the whole cache
  /// is not kept.
  void add(std::string response_id, std::shared_ptr<const Conversation> conversation);
  /// Returns the conversation, now the most recently used, or null.
  [[nodiscard]] std::shared_ptr<const Conversation> find(const std::string& response_id);
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string response_id;
    std::shared_ptr<const Conversation> conversation;
    std::size_t bytes = 0;
  };

  void remove_oldest();

  const std::size_t max_entries_;
  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_id_;
};

}  // namespace paceline
