// Ends a wait at a moment in time.
//
// `pass` is called once, on the executor's thread, when the moment comes while the Deadline lives;
// it closes what is waited for, and the waiter asks passed() why its wait ended. One thread. All
// Deadlines of a loop share a timer, which is work for its run() until the latest moment it was set
// for, even when that Deadline has gone: such a loop is ended by stop().
#ifndef BERTH_PLUGINS_HTTP_DEADLINE_H_
#define BERTH_PLUGINS_HTTP_DEADLINE_H_

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <map>

namespace berth::http {

using Clock = std::chrono::steady_clock;
inline constexpr Clock::time_point kNever = Clock::time_point::max();

class Deadlines;  // all of one event loop

class Deadline {
 public:
  Deadline(const boost::asio::any_io_executor& executor, Clock::time_point at,
           std::function<void()> pass);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();

  // Another moment. One that passed has passed.
  void move_to(Clock::time_point at);
  bool passed() const { return passed_; }

 private:
  friend class Deadlines;
  using Waiting = std::multimap<Clock::time_point, Deadline*>;

  Deadlines& all_;
  std::function<void()> pass_;
  Waiting::iterator place_;  // among those of the loop, while it waits
  bool waits_ = false;
  bool passed_ = false;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_DEADLINE_H_
