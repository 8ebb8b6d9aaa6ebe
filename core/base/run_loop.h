// run_loop: io_context::run() for a host that owns its thread.
#ifndef BERTH_CORE_BASE_RUN_LOOP_H_
#define BERTH_CORE_BASE_RUN_LOOP_H_

#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <vector>

namespace berth {

// Runs `loop` until it has no more work or is stopped, as its run() does, and looks for a moment
// before it sleeps (see HaltPoll). A host may as well call run() itself: answers of workers and
// commits then come later by what a wake-up costs.
void run_loop(boost::asio::io_context& loop);

// What run_loop may look at itself while it looks for a moment. To read what has come takes one call
// into the kernel; to be told first, and to ask for being told again, takes two more.
class LookedAt {
 public:
  // Takes what has come and works it off; false when there is nothing. On the loop's thread, outside
  // of its handlers.
  virtual bool look() = 0;
  // The loop stops looking: from now on it has to be woken.
  virtual void watch() = 0;

 protected:
  ~LookedAt() = default;
};

// All that a loop looks at. On the loop's thread. Whoever adds something removes it before its end;
// the loop does not keep running for it.
class LoopLooks : public boost::asio::execution_context::service {
 public:
  using key_type = LoopLooks;
  static boost::asio::execution_context::id id;
  explicit LoopLooks(boost::asio::execution_context& context) : service(context) {}

  void add(LookedAt& what) { all_.push_back(&what); }
  void remove(LookedAt& what);
  // Whether run_loop runs the loop: otherwise nothing is ever looked at.
  bool on() const { return on_; }

 private:
  friend void run_loop(boost::asio::io_context& loop);
  class On;
  bool look();
  void watch();
  void shutdown() override { all_.clear(); }

  std::vector<LookedAt*> all_;
  bool on_ = false;
};

}  // namespace berth

#endif  // BERTH_CORE_BASE_RUN_LOOP_H_
