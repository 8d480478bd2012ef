#include "http/chunked_decoder.h"

#include <algorithm>
#include <charconv>

namespace paceline {
namespace {

// Longest line of a chunk's size with its extensions, and of all trailer lines together.
constexpr std::size_t kMaxLineBytes = 4096;
constexpr std::size_t kMaxTrailerBytes = 16384;

tl::unexpected<Error> malformed() {
  return fail(ErrorCode::kMalformedRequest, "the chunked body is malformed");
}

/// Whether a line holds only bytes that a header or an extension may hold.
bool is_plain_text(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  });
}

/// Parses `<hex size>` or `<hex size>;<extensions>`.
Result<std::uint64_t> parse_size(std::string_view line) {
  const std::size_t digits = std::min(line.find_first_of("; \t"), line.size());
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + digits, size, 16);
  if (error != std::errc() || end != line.data() + digits) return malformed();
  const std::size_t next = line.find_first_not_of(" \t", digits);
  if (digits < line.size() && (next == std::string_view::npos || line[next] != ';')) {
    return malformed();
  }
  return size;
}

}  // namespace

Result<std::size_t> ChunkedDecoder::decode(std::string_view input, std::string& body) {
  std::size_t used = 0;
  while (state_ != State::kDone && used < input.size()) {
    const std::string_view rest = input.substr(used);
    if (state_ == State::kData) {
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(missing_bytes_, rest.size()));
      body.append(rest.substr(0, size));
      missing_bytes_ -= size;
      used += size;
      if (missing_bytes_ == 0) state_ = State::kDataEnd;
      continue;
    }
    // The line must end within its bound, with CR LF and no other control byte.
    const std::size_t feed = rest.find('\n');
    const std::size_t seen = std::min(feed, rest.size());
    if (seen > kMaxLineBytes) return malformed();
    const bool ends_in_cr = seen > 0 && rest[seen - 1] == '\r';
    if (!is_plain_text(rest.substr(0, seen - (ends_in_cr ? 1 : 0)))) return malformed();
    if (feed == std::string_view::npos) break;
    if (!ends_in_cr) return malformed();
    auto taken = take_line(rest.substr(0, feed - 1));
    if (!taken) return tl::unexpected(taken.error());
    used += feed + 1;
  }
  return used;
}

Result<void> ChunkedDecoder::take_line(std::string_view line) {
  if (state_ == State::kDataEnd) {
    if (!line.empty()) return malformed();
    state_ = State::kSize;
  } else if (state_ == State::kSize) {
    const auto size = parse_size(line);
    if (!size) return tl::unexpected(size.error());
    missing_bytes_ = *size;
    state_ = *size == 0 ? State::kTrailer : State::kData;
  } else if (line.empty()) {
    state_ = State::kDone;
  } else {
    const std::size_t colon = line.find(':');
    trailer_bytes_ += line.size();
    if (colon == 0 || colon == std::string_view::npos || trailer_bytes_ > kMaxTrailerBytes ||
        line.substr(0, colon).find_first_of(" \t") != std::string_view::npos) {
      return malformed();
    }
  }
  return {};
}

}  // namespace paceline
