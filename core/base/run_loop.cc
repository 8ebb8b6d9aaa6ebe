#include "core/base/run_loop.h"

#include <algorithm>

#include "core/base/halt_poll.h"

namespace berth {
namespace {

// Of so many turns one asks the kernel and the queue about everything, and the others look. The first
// asks: a loop whose waits are long takes no other.
constexpr unsigned kLooksPerPoll = 4;

}  // namespace

boost::asio::execution_context::id LoopLooks::id;

void LoopLooks::remove(LookedAt& what) {
  all_.erase(std::remove(all_.begin(), all_.end(), &what), all_.end());
}

// By number: what is looked at may add and remove others, and itself.
bool LoopLooks::look() {
  bool found = false;
  for (std::size_t i = 0; i < all_.size(); ++i) found |= all_[i]->look();
  return found;
}

void LoopLooks::watch() {
  for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->watch();
}

class LoopLooks::On {
 public:
  explicit On(LoopLooks& looks) : looks_(looks) { looks_.on_ = true; }
  ~On() {
    looks_.on_ = false;
    looks_.watch();
  }
  On(const On&) = delete;
  On& operator=(const On&) = delete;

 private:
  LoopLooks& looks_;
};

void run_loop(boost::asio::io_context& loop) {
  LoopLooks& looks = boost::asio::use_service<LoopLooks>(loop);
  const LoopLooks::On on(looks);
  HaltPoll patience;
  while (!loop.stopped()) {
    unsigned asked = 0;
    const bool soon = patience.ready_soon([&] {
      if (!looks.all_.empty() && asked++ % kLooksPerPoll != 0) return looks.look();
      return loop.poll() > 0 || loop.stopped();
    });
    if (soon) continue;
    looks.watch();
    loop.run_one();
    patience.slept();
  }
}

}  // namespace berth
