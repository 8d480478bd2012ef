#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/function_ref.h"
#include "model/packed_file.h"
#include "model/packed_file_writer.h"

namespace paceline {

/// A packed file, and how it was come by, for the log.
struct CachedPackedFile {
  PackedFile file;
  /// Why it had to be made; empty when it was there.
  std::string made_because;
};

/// Opens a packed file or makes it: takes an advisory lock (`<path>.lock`), looks again, calls
/// `make` to write all sections, commits and maps the result. Of several processes started at once
/// one makes it and the others wait for it, at most `lock_timeout`; a process that dies gives the
/// lock back. Errors: kIo when the cache cannot be used (read-only folder, lock timeout), after
/// which the caller goes on without one; kDiskFull; whatever `make` returns. Nothing is left behind
/// then.
[[nodiscard]] Result<CachedPackedFile> open_or_make_packed_file(
    const std::filesystem::path& path, const PackedFileKey& key,
    std::chrono::milliseconds lock_timeout,
    FunctionRef<Result<void>(PackedFileWriter& writer)> make);

}  // namespace paceline
