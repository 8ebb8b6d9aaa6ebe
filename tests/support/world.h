// World: time and order under a test's control. Whatever a host waits for is an item that the test
// fires, one at a time, in the order it likes; timers fire when it lets time pass.
//
// One thread. Hosts are numbers; kNobody marks what belongs to no host and survives all of them.
#ifndef BERTH_TESTS_SUPPORT_WORLD_H_
#define BERTH_TESTS_SUPPORT_WORLD_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/task.h"
#include "core/base/time.h"
#include "core/lifecycle/clock.h"
#include "core/lifecycle/signal.h"

namespace berth::testing {

inline constexpr int kNobody = -1;

class World {
 public:
  using Fire = std::function<void()>;

  Instant now{};
  WallTime wall = wall_time_from_unix_ms(1'000'000);

  // Something that can happen from now on.
  void post(int host, Fire fire) { ready_.push_back({host, std::move(fire)}); }
  // Something that happens at `when` unless `*live` has turned false.
  void at(Instant when, int host, std::shared_ptr<const bool> live, Fire fire);

  std::size_t ready_count() const { return ready_.size(); }
  // Fires the ready item with this index; the host it belonged to.
  int fire_ready(std::size_t index);
  // Lets time pass to the next timer and fires it; nothing when there is none before `until`.
  std::optional<int> fire_timer(Instant until = Instant::max());
  // What was waiting for a host is gone with it.
  void forget(int host);
  void advance(Duration by);

  // Waits for an item of its own, whose effect runs when it is fired, and gives the effect's value.
  template <class T>
  Task<T> perform(int host, std::function<T()> effect);

 private:
  struct Item {
    int host;
    Fire fire;
  };
  struct Timer {
    Instant when;
    std::size_t order;
    int host;
    std::shared_ptr<const bool> live;
    Fire fire;
  };
  std::vector<Item> ready_;
  std::vector<Timer> timers_;
  std::size_t timer_order_ = 0;
};

// A host's clock in a world.
class WorldClock : public Clock {
 public:
  WorldClock(World& world, int host) : world_(world), host_(host) {}
  Instant now() const override { return world_.now; }
  WallTime wall_now() const override { return world_.wall; }
  Task<void> sleep_until(Instant when, Cancellation* cancellation) override;

 private:
  World& world_;
  int host_;
};

template <class T>
Task<T> World::perform(int host, std::function<T()> effect) {
  struct State {
    std::optional<T> value;
    Signal done;
  };
  auto state = std::make_shared<State>();
  post(host, [state, effect = std::move(effect)] {
    state->value = effect();
    state->done.notify();
  });
  while (!state->value) co_await state->done.wait();
  co_return std::move(*state->value);
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_SUPPORT_WORLD_H_
