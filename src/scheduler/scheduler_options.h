#pragma once

#include <cstdint>

namespace paceline {

struct SchedulerOptions {
  /// Tokens per KV block: 16, 32 or 64 (`kv.block_size`).
  int block_size = 16;
  /// Blocks of the pool (`kv.blocks`, or from `kv.memory_bytes`).
  int num_blocks = 0;
  /// Prompt and output together, tokens.
  int max_context = 0;
  /// Sequences in the batch at once (`scheduler.max_running`).
  int max_running = 64;
  /// Accepted requests that wait, over all tenants (`scheduler.max_queued`); above:
  /// kServerOverloaded.
  int max_queued = 512;
  /// Waiting prompt tokens over all tenants; above: kServerOverloaded.
  std::int64_t max_queued_tokens = 2'000'000;
  /// Largest prefill chunk of one sequence in one step, tokens (`scheduler.max_chunk_tokens`).
  int max_chunk_tokens = 512;
  /// Prefill tokens every step carries while a prompt waits, tokens.
  int min_chunk_tokens = 16;
  /// Tokens of all sequences in one step; sizes the model's activations.
  int max_step_tokens = 2048;
  /// Rows of logits in one step; with max_step_tokens it also bounds how many sequences run.
  int max_logits_rows = 256;
  /// Predicted duration a step aims at, milliseconds (`scheduler.target_step_ms`).
  double target_step_ms = 50;
  /// Prompt tokens per step of a sequence that wants prompt log-probabilities (each needs a row of
  /// logits).
  int max_prompt_logprob_rows = 32;
  /// Virtual-counter difference of two backlogged tenants that stops admission, tokens
  /// (`scheduler.max_gap_tokens`).
  std::int64_t max_gap_tokens = 8192;
  /// Reuse of full and partial blocks (`cache.enabled`).
  bool prefix_cache = true;
  /// Secret mixed into block hashes, so that no client can aim at a bucket of the prefix cache.
  std::uint64_t hash_seed = 0;
};

}  // namespace paceline
