#include "scheduler/sequence.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace paceline {
namespace {

/// The tenant comes first and has a fixed form, so no client salt can reach into another tenant.
std::string make_salt(TenantId tenant, const std::string& client_salt) {
  return std::to_string(raw(tenant)) + ':' + client_salt;
}

}  // namespace

Sequence::Sequence(NewSequence request, std::uint64_t arrival, TimePoint queued_at, BlockPool& pool)
    : id_(request.id),
      request_(request.request),
      tenant_(request.tenant),
      arrival_(arrival),
      priority_(request.priority),
      prompt_logprobs_(request.prompt_logprobs),
      salt_(make_salt(request.tenant, request.cache_salt)),
      token_ids_(std::move(request.prompt)),
      num_prompt_tokens_(static_cast<int>(token_ids_.size())),
      max_new_tokens_(request.max_new_tokens),
      after_(request.after),
      blocks_(pool) {
  token_ids_.reserve(static_cast<std::size_t>(num_prompt_tokens_ + max_new_tokens_));
  stats_.queued_at = queued_at;
}

void Sequence::admit(std::span<const BlockId> cached_blocks, int block_size, TimePoint now) {
  DCHECK(!is_running() && is_runnable());
  DCHECK(blocks_.size() == 0);
  state_ = SequenceState::kRunning;
  for (const BlockId block : cached_blocks) blocks_.share(block);
  num_registered_blocks_ = blocks_.size();
  num_computed_tokens_ = blocks_.size() * block_size;
  blocks_accounted_at_ = now;
  if (!stats_.first_scheduled_at) {
    stats_.first_scheduled_at = now;
  } else {
    stats_.requeued += now - preempted_at_;
  }
}

void Sequence::preempt(TimePoint now) {
  DCHECK(is_running() && !is_planned());
  account_blocks(now);
  state_ = SequenceState::kWaiting;
  preempted_at_ = now;
  blocks_.clear();
  num_registered_blocks_ = 0;
  num_computed_tokens_ = 0;
  ++stats_.num_preemptions;
}

int Sequence::settle_prompt_charge() {
  const int before = num_settled_tokens_;
  num_settled_tokens_ = std::max(before, std::min(num_computed_tokens_, num_prompt_tokens_));
  return num_settled_tokens_ - before;
}

void Sequence::append(TokenId token) {
  CHECK(num_computed_tokens_ == num_tokens());
  CHECK(num_generated_tokens() < max_new_tokens_);
  token_ids_.push_back(token);
}

void Sequence::account_blocks(TimePoint now) {
  stats_.kv_block_seconds += blocks_.size() * to_seconds(now - blocks_accounted_at_);
  blocks_accounted_at_ = now;
}

}  // namespace paceline
