#include "app/fingerprint.h"

#include <openssl/evp.h>

#include <array>
#include <cstdio>

#include "base/check.h"

namespace paceline {

std::string system_fingerprint(std::initializer_list<std::string_view> parts) {
  std::string joined;
  for (const std::string_view part : parts) {
    joined += part;
    joined += '\0';
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  CHECK(EVP_Digest(joined.data(), joined.size(), digest.data(), nullptr, EVP_sha256(), nullptr) ==
        1);
  std::string text = "fp_";
  for (std::size_t i = 0; i < 6; ++i) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(digest[i]));
    text += hex.data();
  }
  return text;
}

}  // namespace paceline
