#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace paceline {

/// Decodes the chunked transfer coding, strictly: Beast's parser ends a body at `0x1` and takes
/// other sizes that a second reader would understand differently. Extensions and trailers are
/// checked for their form and passed over. One body. Source: RFC 9112 §7.1.
class ChunkedDecoder {
 public:
  /// Uses bytes at the front of `input` and appends the body's to `body`; returns how many were
  /// used, 0 when a line is not complete yet. Errors: kMalformedRequest.
  [[nodiscard]] Result<std::size_t> decode(std::string_view input, std::string& body);
  [[nodiscard]] bool is_done() const { return state_ == State::kDone; }

 private:
  enum class State { kSize, kData, kDataEnd, kTrailer, kDone };

  [[nodiscard]] Result<void> take_line(std::string_view line);

  State state_ = State::kSize;
  std::uint64_t missing_bytes_ = 0;  // of the chunk
  std::size_t trailer_bytes_ = 0;
};

}  // namespace paceline
