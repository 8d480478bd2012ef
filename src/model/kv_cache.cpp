#include "model/kv_cache.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"

namespace paceline {

KvCacheLayout::KvCacheLayout(const ModelConfig& config, KvElement dtype,
                             std::span<const float> max_key_bias, int block_size)
    : block_size_(block_size) {
  CHECK(block_size == 16 || block_size == 32 || block_size == 64);
  CHECK(max_key_bias.size() == static_cast<std::size_t>(config.n_layers));
  const auto groups = static_cast<std::size_t>(config.n_kv_heads * block_size / kKvGroupSize);
  layers_.reserve(max_key_bias.size());
  for (const float bias : max_key_bias) {
    const bool keeps_keys_wide = dtype == KvElement::kInt8 && bias > kLargeKeyBias;
    const KvGroupLayout group(keeps_keys_wide ? KvElement::kBf16 : dtype, dtype, config.head_dim);
    layers_.push_back({.group = group, .offset = bytes_per_block_});
    bytes_per_block_ += groups * group.bytes;
  }
}

Result<KvCache> KvCache::create(KvCacheLayout layout, int num_blocks) {
  const std::size_t per_block = layout.bytes_per_block();
  if (num_blocks < 1) return fail(ErrorCode::kBadConfig, "the KV cache needs at least one block");
  const auto blocks = static_cast<std::size_t>(num_blocks);
  if (blocks > std::numeric_limits<std::size_t>::max() / 2 / per_block) {
    return fail(ErrorCode::kBadConfig, "the KV cache's size does not fit the address space");
  }
  const std::size_t bytes = blocks * per_block;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorCode::kBadConfig, "cannot reserve " + std::to_string(bytes >> 20) +
                                           " MiB for the KV cache: " + std::strerror(errno));
  }
  // Advice only: without huge pages everything works, somewhat slower.
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  return KvCache(std::move(layout), num_blocks, static_cast<std::byte*>(memory), bytes);
}

KvCache::KvCache(KvCacheLayout layout, int num_blocks, std::byte* memory, std::size_t bytes)
    : layout_(std::move(layout)), num_blocks_(num_blocks), memory_(memory), bytes_(bytes) {}

KvCache::KvCache(KvCache&& other) noexcept
    : layout_(std::move(other.layout_)),
      num_blocks_(other.num_blocks_),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

KvCache::~KvCache() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

void KvCache::copy_block(BlockId source, BlockId target, int num_tokens) {
  DCHECK(num_tokens > 0 && num_tokens <= layout_.block_size());
  DCHECK(raw(source) >= 0 && raw(source) < num_blocks_);
  DCHECK(raw(target) >= 0 && raw(target) < num_blocks_);
  if (source == target) return;
  const auto num_groups = static_cast<std::size_t>((num_tokens + kKvGroupSize - 1) / kKvGroupSize);
  for (int l = 0; l < layout_.n_layers(); ++l) {
    const KvLayerView view = layer(l);
    const std::size_t end =
        l + 1 < layout_.n_layers() ? layout_.offset(l + 1) : layout_.bytes_per_block();
    for (std::size_t head = 0; head < end - layout_.offset(l); head += view.head_stride) {
      std::memcpy(view.base + index_of(target) * view.block_stride + head,
                  view.base + index_of(source) * view.block_stride + head,
                  num_groups * view.layout.bytes);
    }
  }
}

KvLayerView KvCache::layer(int layer) const {
  const KvGroupLayout& group = layout_.group(layer);
  const int groups_per_block = layout_.block_size() / kKvGroupSize;
  return {.base = memory_ + layout_.offset(layer),
          .block_stride = layout_.bytes_per_block(),
          .head_stride = static_cast<std::size_t>(groups_per_block) * group.bytes,
          .groups_per_block = groups_per_block,
          .layout = group};
}

std::size_t KvCache::resident_bytes() const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes_ + page - 1) / page);
  if (::mincore(memory_, bytes_, pages.data()) != 0) return bytes_;
  std::size_t resident = 0;
  for (const unsigned char p : pages) resident += (p & 1U) != 0 ? page : 0;
  return resident;
}

}  // namespace paceline
