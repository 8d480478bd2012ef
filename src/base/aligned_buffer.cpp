#include "base/aligned_buffer.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace paceline::detail {

void* allocate_aligned(std::size_t bytes, std::size_t alignment) {
  void* memory = std::aligned_alloc(alignment, bytes);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  // Before the first write: pages that exist already are not replaced by huge ones.
  if (alignment >= kHugePageBytes) (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

}  // namespace paceline::detail
