// The moments after which waits are given up, all of them on one timer.
#include "plugins/http/deadline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <vector>

namespace berth::http {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::ElementsAre;

struct HttpDeadline : testing::Test {
  std::unique_ptr<Deadline> in(milliseconds wait, int number) {
    return std::make_unique<Deadline>(loop->get_executor(), Clock::now() + wait, [this, number] {
      passed.push_back(number);
      if (passed.size() == expected) loop->stop();
    });
  }

  std::optional<boost::asio::io_context> loop{std::in_place, 1};
  std::vector<int> passed;
  std::size_t expected = 0;
};

TEST_F(HttpDeadline, PassInTheOrderOfTheirMomentsWhicheverWasMadeFirst) {
  expected = 3;
  const auto late = in(milliseconds(60), 3), early = in(milliseconds(20), 1),
             middle = in(milliseconds(40), 2);
  loop->run();
  EXPECT_THAT(passed, ElementsAre(1, 2, 3));
  EXPECT_TRUE(late->passed() && early->passed() && middle->passed());
}

TEST_F(HttpDeadline, OneThatIsGoneOrMovedDoesNotPassAtItsOldMoment) {
  expected = 2;
  auto gone = in(milliseconds(5), 1);
  const auto later = in(milliseconds(10), 2), sooner = in(hours(1), 3);
  gone.reset();
  later->move_to(Clock::now() + milliseconds(60));
  sooner->move_to(Clock::now() + milliseconds(30));
  loop->run();
  EXPECT_THAT(passed, ElementsAre(3, 2));
}

TEST_F(HttpDeadline, MayGoAndTakeOthersAlongAsItPasses) {
  expected = 1;
  std::unique_ptr<Deadline> other;
  std::unique_ptr<Deadline> first =
      std::make_unique<Deadline>(loop->get_executor(), Clock::now(), [&] {
        other.reset();
        first.reset();
        loop->stop();
      });
  other = in(milliseconds(0), 1);
  loop->run();
  EXPECT_THAT(passed, ElementsAre());
}

// The loop goes while its timer still waits. What is wrong then is seen by AddressSanitizer.
TEST_F(HttpDeadline, LeaveALoopThatGoesBeforeTheirMoments) {
  auto waiting = in(hours(1), 1);
  loop->poll();
  waiting.reset();
  loop.reset();
  EXPECT_THAT(passed, ElementsAre());
}

}  // namespace
}  // namespace berth::http
