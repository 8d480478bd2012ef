#include "model/gguf_model.h"

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/byte_reader.h"
#include "model/gguf_file.h"
#include "model/mapped_tensors.h"

namespace paceline {
namespace {

constexpr std::int64_t kMaxParts = 1024;

/// What a file says about being part of a split model.
struct SplitInfo {
  std::int64_t index = 0;
  std::int64_t count = 1;
  std::int64_t num_tensors = -1;  ///< of all parts; -1: not stated
};

Result<SplitInfo> read_split_info(const GgufMetadata& metadata) {
  auto index = metadata.find_integer("split.no");
  if (!index) return tl::unexpected(std::move(index.error()));
  auto count = metadata.find_integer("split.count");
  if (!count) return tl::unexpected(std::move(count.error()));
  auto num_tensors = metadata.find_integer("split.tensors.count");
  if (!num_tensors) return tl::unexpected(std::move(num_tensors.error()));
  const SplitInfo info{index->value_or(0), count->value_or(1), num_tensors->value_or(-1)};
  if (info.count < 0 || info.count > kMaxParts) {
    return fail(ErrorCode::kBadFile, metadata.file() + ": key 'split.count': expected at most " +
                                         std::to_string(kMaxParts) + " parts, found " +
                                         std::to_string(info.count));
  }
  return info;
}

/// `-00002-of-00003.gguf`, counted from 1.
std::string part_suffix(std::int64_t index, std::int64_t count) {
  char text[48];
  (void)std::snprintf(text, sizeof text, "-%05lld-of-%05lld.gguf",
                      static_cast<long long>(index + 1), static_cast<long long>(count));
  return text;
}

/// Path of another part, made from the path of the first.
Result<std::filesystem::path> part_path(const std::filesystem::path& first, std::int64_t index,
                                        std::int64_t count) {
  const std::string name = first.filename().string();
  const std::string suffix = part_suffix(0, count);
  if (!name.ends_with(suffix)) {
    return fail(ErrorCode::kBadFile,
                first.string() + ": the file is part 1 of a model split into " +
                    std::to_string(count) + " files, so its name must end with '" + suffix + "'");
  }
  return first.parent_path() /
         (name.substr(0, name.size() - suffix.size()) + part_suffix(index, count));
}

/// Opens part `index` and checks that it is that part.
Result<GgufFile> open_part(const std::filesystem::path& first, std::int64_t index,
                           std::int64_t count) {
  auto path = part_path(first, index, count);
  if (!path) return tl::unexpected(std::move(path.error()));
  auto file = GgufFile::open(*path);
  if (!file) {
    return fail(file.error().code, file.error().message + " (part " + std::to_string(index + 1) +
                                       " of " + std::to_string(count) + ")");
  }
  auto info = read_split_info(file->metadata);
  if (!info) return tl::unexpected(std::move(info.error()));
  if (info->index != index || info->count != count) {
    return fail(ErrorCode::kBadFile,
                path->string() + ": expected part " + std::to_string(index + 1) + " of " +
                    std::to_string(count) + ", found part " + std::to_string(info->index + 1) +
                    " of " + std::to_string(info->count));
  }
  return file;
}

/// Mappings and tensors of several parts, collected.
struct Parts {
  std::vector<MappedFile> mappings;
  std::map<std::string, StoredTensor, std::less<>> tensors;
};

Result<void> add_part(Parts& parts, GgufFile file) {
  for (auto& [name, tensor] : file.tensors) {
    if (!parts.tensors.emplace(name, tensor).second) {
      return fail(ErrorCode::kBadFile, file.metadata.file() + ": tensor " + quote_name(name) +
                                           " is also stored in another part");
    }
  }
  parts.mappings.push_back(std::move(file.mapping));
  return {};
}

}  // namespace

Result<GgufModel> open_gguf_model(const std::filesystem::path& path) {
  auto first = GgufFile::open(path);
  if (!first) return tl::unexpected(std::move(first.error()));
  auto info = read_split_info(first->metadata);
  if (!info) return tl::unexpected(std::move(info.error()));
  if (info->index != 0) {
    return fail(ErrorCode::kBadFile,
                path.string() + ": the file is part " + std::to_string(info->index + 1) + " of " +
                    std::to_string(info->count) + " of a split model, give the first part");
  }
  GgufMetadata metadata = first->metadata;
  Parts parts;
  if (auto added = add_part(parts, std::move(*first)); !added) {
    return tl::unexpected(std::move(added.error()));
  }
  for (std::int64_t index = 1; index < info->count; ++index) {
    auto file = open_part(path, index, info->count);
    if (!file) return tl::unexpected(std::move(file.error()));
    if (auto added = add_part(parts, std::move(*file)); !added) {
      return tl::unexpected(std::move(added.error()));
    }
  }
  const auto num_tensors = static_cast<std::int64_t>(parts.tensors.size());
  if (info->num_tensors >= 0 && info->num_tensors != num_tensors) {
    return fail(ErrorCode::kBadFile, path.string() + ": key 'split.tensors.count': expected " +
                                         std::to_string(info->num_tensors) +
                                         " tensors in all parts, found " +
                                         std::to_string(num_tensors));
  }
  return GgufModel{std::move(metadata),
                   std::make_unique<MappedTensors>(path.string(), std::move(parts.mappings),
                                                   std::move(parts.tensors))};
}

}  // namespace paceline
