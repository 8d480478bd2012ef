#include "model/mapped_tensors.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/check.h"
#include "model/byte_reader.h"
#include "model/dequantize.h"

namespace paceline {
namespace {

/// Bytes of each tensor that go into the fingerprint: one page, so that a cold file costs one read
/// per tensor.
constexpr std::size_t kSampleBytes = 4096;

struct FreeHashState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};
using HashState = std::unique_ptr<XXH3_state_t, FreeHashState>;

template <typename T>
void hash_number(const HashState& state, T number) {
  XXH3_128bits_update(state.get(), &number, sizeof number);
}

}  // namespace

MappedTensors::MappedTensors(std::string label, std::vector<MappedFile> files,
                             std::map<std::string, StoredTensor, std::less<>> tensors)
    : label_(std::move(label)), files_(std::move(files)), tensors_(std::move(tensors)) {}

bool MappedTensors::has(std::string_view name) const { return tensors_.contains(name); }

std::vector<std::string_view> MappedTensors::names() const {
  std::vector<std::string_view> names;
  names.reserve(tensors_.size());
  for (const auto& [name, tensor] : tensors_) names.emplace_back(name);
  return names;
}

Result<const StoredTensor*> MappedTensors::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  if (it != tensors_.end()) return &it->second;
  return fail(ErrorCode::kBadFile, label_ + ": tensor " + quote_name(name) + " is missing");
}

Result<TensorSource::Shape> MappedTensors::shape(std::string_view name) const {
  return find(name).map([](const StoredTensor* tensor) { return tensor->shape; });
}

Result<void> MappedTensors::read_rows(std::string_view name, std::int64_t first_row,
                                      std::int64_t num_rows, std::span<float> out) const {
  auto found = find(name);
  if (!found) return tl::unexpected(std::move(found.error()));
  const StoredTensor& tensor = **found;
  const Shape& shape = tensor.shape;
  if (first_row < 0 || num_rows < 0 || first_row > shape.rows ||
      num_rows > shape.rows - first_row) {
    return fail(ErrorCode::kBadFile, label_ + ": tensor " + quote_name(name) + " has the shape " +
                                         to_string(shape) + ", " + std::to_string(num_rows) +
                                         " rows from " + std::to_string(first_row) +
                                         " were asked for");
  }
  DCHECK(out.size() == static_cast<std::size_t>(num_rows * shape.columns));
  const std::size_t row_bytes = tensor.bytes.size() / static_cast<std::size_t>(shape.rows);
  dequantize(tensor.type,
             tensor.bytes.subspan(static_cast<std::size_t>(first_row) * row_bytes,
                                  static_cast<std::size_t>(num_rows) * row_bytes),
             out);
  return {};
}

std::string MappedTensors::fingerprint() const {
  const HashState state(XXH3_createState());
  CHECK(state != nullptr);
  XXH3_128bits_reset(state.get());
  for (const MappedFile& file : files_) {
    hash_number(state, file.bytes().size());
    hash_number(state, file.modified_ns());
  }
  for (const auto& [name, tensor] : tensors_) {
    XXH3_128bits_update(state.get(), name.c_str(), name.size() + 1);
    hash_number(state, tensor.type);
    hash_number(state, tensor.shape.rows);
    hash_number(state, tensor.shape.columns);
    XXH3_128bits_update(state.get(), tensor.bytes.data(),
                        std::min(kSampleBytes, tensor.bytes.size()));
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  char text[33];
  (void)std::snprintf(text, sizeof text, "%016llx%016llx",
                      static_cast<unsigned long long>(hash.high64),
                      static_cast<unsigned long long>(hash.low64));
  return text;
}

std::string to_string(const TensorSource::Shape& shape) {
  return "[" + std::to_string(shape.rows) + ", " + std::to_string(shape.columns) + "]";
}

}  // namespace paceline
