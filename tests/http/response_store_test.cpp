#include "http/response_store.h"

#include <gtest/gtest.h>

#include "metrics/http_metrics.h"
#include "metrics/registry.h"
#include "tests/support/manual_clock.h"

namespace paceline {
namespace {

constexpr TenantId kOwner{1};
constexpr TenantId kOther{2};

class ResponseStoreTest : public testing::Test {
 protected:
  std::unique_ptr<ResponseStore::Running> begin(const std::string& id, bool is_kept = true) {
    return store_.add(kOwner, id, is_kept, "running " + id, [this] { ++num_cancels_; });
  }
  void add_finished(const std::string& id, std::size_t text_bytes = 10) {
    begin(id)->finish("done " + id, conversation(text_bytes));
  }
  static std::shared_ptr<const Conversation> conversation(std::size_t text_bytes) {
    return std::make_shared<const Conversation>(
        Conversation{openai::MessageItem{Role::kUser, std::string(text_bytes, 'x')}});
  }
  static ResponseStoreOptions options() {
    ResponseStoreOptions options;
    options.max_stored = 3;
    options.max_stored_bytes = 4000;
    options.ttl = std::chrono::milliseconds(1000);
    return options;
  }

  ManualClock clock_;
  MetricsRegistry registry_;
  HttpMetrics metrics_{registry_, {}};
  ResponseStore store_{options(), metrics_, clock_};
  int num_cancels_ = 0;
};

TEST_F(ResponseStoreTest, RunningResponseIsSeenAndThenFinished) {
  auto running = begin("a");
  EXPECT_EQ(store_.get(kOwner, "a").value(), "running a");
  running->update("still a");
  EXPECT_EQ(store_.get(kOwner, "a").value(), "still a");
  EXPECT_EQ(store_.conversation(kOwner, "a").error().code, ErrorCode::kPreviousResponseInProgress);

  running->finish("done a", conversation(5));
  running.reset();

  EXPECT_EQ(store_.get(kOwner, "a").value(), "done a");
  EXPECT_EQ(store_.conversation(kOwner, "a").value()->size(), 1U);
}

TEST_F(ResponseStoreTest, ForeignResponsesAreLikeUnknownOnes) {
  add_finished("a");
  const auto running = begin("b");

  EXPECT_EQ(store_.get(kOther, "a").error().message, store_.get(kOther, "x").error().message);
  EXPECT_EQ(store_.conversation(kOther, "a").error().code, ErrorCode::kPreviousResponseNotFound);
  EXPECT_FALSE(store_.remove(kOther, "a"));
  EXPECT_FALSE(store_.cancel(kOther, "b", [](const std::string&) {}));
  EXPECT_FALSE(store_.cancel_running(kOther, "b"));
  EXPECT_EQ(num_cancels_, 0);
}

TEST_F(ResponseStoreTest, UnkeptResponseCanOnlyBeCancelledWhileItRuns) {
  auto running = begin("a", false);
  std::string end;

  EXPECT_FALSE(store_.get(kOwner, "a"));
  EXPECT_FALSE(store_.remove(kOwner, "a"));
  EXPECT_TRUE(store_.cancel(kOwner, "a", [&end](const std::string& json) { end = json; }));
  running->finish("cancelled a", conversation(5));

  EXPECT_EQ(num_cancels_, 1);
  EXPECT_EQ(end, "cancelled a");
  EXPECT_FALSE(store_.cancel_running(kOwner, "a"));
  EXPECT_FALSE(store_.conversation(kOwner, "a"));
}

TEST_F(ResponseStoreTest, CancelOfAFinishedResponseTellsItAtOnce) {
  add_finished("a");
  std::string end;

  EXPECT_TRUE(store_.cancel(kOwner, "a", [&end](const std::string& json) { end = json; }));

  EXPECT_EQ(end, "done a");
  EXPECT_EQ(num_cancels_, 0);
}

TEST_F(ResponseStoreTest, RemovingARunningResponseCancelsAndForgetsIt) {
  auto running = begin("a");

  EXPECT_TRUE(store_.remove(kOwner, "a"));
  EXPECT_FALSE(store_.get(kOwner, "a"));
  running->finish("cancelled a", conversation(5));

  EXPECT_EQ(num_cancels_, 1);
  EXPECT_FALSE(store_.get(kOwner, "a"));
}

TEST_F(ResponseStoreTest, FailedResponseIsSeenButNotContinued) {
  begin("a")->finish("failed a", nullptr);

  EXPECT_EQ(store_.get(kOwner, "a").value(), "failed a");
  EXPECT_EQ(store_.conversation(kOwner, "a").error().code, ErrorCode::kPreviousResponseNotFound);
}

TEST_F(ResponseStoreTest, LeastRecentlyUsedIsGivenUpFirst) {
  for (const char* id : {"a", "b", "c"}) add_finished(id);
  EXPECT_TRUE(store_.get(kOwner, "a"));

  add_finished("d");

  EXPECT_TRUE(store_.get(kOwner, "a"));
  EXPECT_FALSE(store_.get(kOwner, "b"));
  EXPECT_TRUE(store_.get(kOwner, "c"));
}

TEST_F(ResponseStoreTest, BytesAreBounded) {
  add_finished("a", 1800);
  add_finished("b", 1800);
  EXPECT_TRUE(store_.get(kOwner, "b"));

  add_finished("c", 1800);
  add_finished("too large", 5000);

  EXPECT_FALSE(store_.get(kOwner, "a"));
  EXPECT_FALSE(store_.get(kOwner, "too large"));
}

TEST_F(ResponseStoreTest, ResponsesExpireAfterTheirEnd) {
  add_finished("a");
  const auto running = begin("b");
  clock_.advance(std::chrono::milliseconds(999));
  EXPECT_TRUE(store_.conversation(kOwner, "a"));

  clock_.advance(std::chrono::milliseconds(1));

  EXPECT_FALSE(store_.get(kOwner, "a"));
  EXPECT_TRUE(store_.get(kOwner, "b"));
}

TEST_F(ResponseStoreTest, RunThatIsGivenUpLeavesNothing) {
  begin("a").reset();

  EXPECT_FALSE(store_.get(kOwner, "a"));
  EXPECT_FALSE(store_.cancel_running(kOwner, "a"));
}

}  // namespace
}  // namespace paceline
