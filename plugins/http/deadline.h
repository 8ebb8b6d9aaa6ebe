// Ends a wait at a moment in time.
//
// `pass` is called once, on the executor's thread, when the moment comes while the Deadline lives;
// it closes what is waited for, and the waiter asks passed() why its wait ended. One thread.
#ifndef BERTH_PLUGINS_HTTP_DEADLINE_H_
#define BERTH_PLUGINS_HTTP_DEADLINE_H_

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace berth::http {

using Clock = std::chrono::steady_clock;
inline constexpr Clock::time_point kNever = Clock::time_point::max();

class Deadline {
 public:
  Deadline(const boost::asio::any_io_executor& executor, Clock::time_point at,
           std::function<void()> pass);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();

  // Another moment. One that passed has passed.
  void move_to(Clock::time_point at);
  bool passed() const;

 private:
  struct Shared;
  static void arm(const std::shared_ptr<Shared>& shared, Clock::time_point at);

  std::shared_ptr<Shared> shared_;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_DEADLINE_H_
