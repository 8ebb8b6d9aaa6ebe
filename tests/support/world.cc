#include "tests/support/world.h"

#include <algorithm>

namespace berth::testing {

void World::at(Instant when, int host, std::shared_ptr<const bool> live, Fire fire) {
  timers_.push_back({when, timer_order_++, host, std::move(live), std::move(fire)});
}

int World::fire_ready(std::size_t index) {
  Item item = std::move(ready_[index]);
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
  item.fire();
  return item.host;
}

std::optional<int> World::fire_timer(Instant until) {
  std::erase_if(timers_, [](const Timer& timer) { return !*timer.live; });
  const auto next =
      std::min_element(timers_.begin(), timers_.end(), [](const Timer& a, const Timer& b) {
        return a.when != b.when ? a.when < b.when : a.order < b.order;
      });
  if (next == timers_.end() || next->when > until) return std::nullopt;
  Timer timer = std::move(*next);
  timers_.erase(next);
  if (timer.when > now) advance(timer.when - now);
  timer.fire();
  return timer.host;
}

void World::forget(int host) {
  std::erase_if(ready_, [host](const Item& item) { return item.host == host; });
  std::erase_if(timers_, [host](const Timer& timer) { return timer.host == host; });
}

void World::advance(Duration by) {
  now += by;
  wall += std::chrono::duration_cast<std::chrono::milliseconds>(by);
}

Task<void> WorldClock::sleep_until(Instant when, Cancellation* cancellation) {
  struct State {
    std::shared_ptr<bool> live = std::make_shared<bool>(true);
    bool over = false;
    Signal done;
    void end() {
      if (over) return;
      over = true;
      *live = false;
      done.notify();
    }
  };
  const auto state = std::make_shared<State>();
  Cancellation::Subscription subscription;
  if (cancellation != nullptr) subscription = cancellation->subscribe([state] { state->end(); });
  if (!state->over) world_.at(when, host_, state->live, [state] { state->end(); });
  while (!state->over) co_await state->done.wait();
}

}  // namespace berth::testing
