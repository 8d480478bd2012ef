#include "app/version.h"

namespace paceline {

std::string_view version() { return PACELINE_VERSION; }

std::string_view commit() { return PACELINE_COMMIT; }

std::string version_text() {
  return "paceline " + std::string(version()) + " (" + std::string(commit()) + ")";
}

}  // namespace paceline
