#include "http/request_target.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paceline {
namespace {

using Path = std::vector<std::string>;

TEST(RequestTargetTest, PathIsSplitAtSlashesAndDecodedOnce) {
  const std::vector<std::pair<std::string, Path>> cases{
      {"/", {""}},
      {"/v1/models", {"v1", "models"}},
      {"/v1/models/", {"v1", "models", ""}},
      {"//v1/models", {"", "v1", "models"}},
      {"/v1/models?x=1/2", {"v1", "models"}},
      {"/v1/models#top", {"v1", "models"}},
      {"/v1%2Fmodels", {"v1/models"}},
      {"/%76%31/models", {"v1", "models"}},
      {"/%2541", {"%41"}},
      {"/%2e%2e/%2e%2e/etc", {"..", "..", "etc"}},
      {"http://h/v1/models", {"v1", "models"}},
      {"HTTP://h:80/v1?x", {"v1"}},
      {"http://h", {""}},
      {"http://h?x=/y", {""}},
      {"https://h/", {""}},
  };
  for (const auto& [target, path] : cases) {
    const auto parsed = parse_request_target(target);

    ASSERT_TRUE(parsed.has_value()) << target;
    EXPECT_EQ(parsed->path, path) << target;
    EXPECT_FALSE(parsed->is_asterisk);
  }
}

TEST(RequestTargetTest, AsteriskHasNoPath) {
  const auto parsed = parse_request_target("*");

  EXPECT_TRUE(parsed->is_asterisk);
  EXPECT_TRUE(parsed->path.empty());
}

TEST(RequestTargetTest, BadEscapesAndOtherFormsAreRefused) {
  for (const char* target :
       {"/%", "/%4", "/%zz", "/a%2", "/%4g/x", "v1/models", "", "h:443", "ftp://h/x", "*x"}) {
    EXPECT_FALSE(parse_request_target(target).has_value()) << target;
  }
}

TEST(RequestTargetTest, BadEscapesInTheQueryDoNotMatter) {
  EXPECT_TRUE(parse_request_target("/v1/models?%").has_value());
}

}  // namespace
}  // namespace paceline
