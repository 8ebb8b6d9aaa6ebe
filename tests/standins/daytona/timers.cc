// What a sandbox does by itself: it ends after its lifetime, stops when nobody asks anything of it, and goes
// some time after it was stopped. Each is counted in minutes, which a stand-in may be told to make short.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "core/base/ids.h"
#include "tests/standins/daytona/daytona.h"

namespace berth::standins::daytona {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLater{20};  // for one that is between two states

}  // namespace

// The next moment at which one of its timers is due; the end of time when none runs.
Clock::time_point Daytona::due(const Sandbox& sandbox) const {
  if (sandbox.gone() || sandbox.desired == "destroyed") return Clock::time_point::max();
  auto next = Clock::time_point::max();
  const auto after = [&](Clock::time_point since, std::int64_t minutes) {
    next = std::min(next, since + minutes * minute_);
  };
  if (sandbox.ttl_minutes > 0) after(sandbox.made, sandbox.ttl_minutes);
  if (sandbox.state == "started" && sandbox.auto_stop_minutes > 0) after(sandbox.active, sandbox.auto_stop_minutes);
  if (sandbox.state == "stopped" && sandbox.auto_delete_minutes >= 0)
    after(sandbox.stopped, sandbox.auto_delete_minutes);
  return next;
}

void Daytona::arm(const SandboxPointer& sandbox) {
  if (sandbox->timer == nullptr) {
    sandbox->timer = std::make_shared<boost::asio::steady_timer>(machines_.executor());
  }
  const Clock::time_point next = due(*sandbox);
  if (next == Clock::time_point::max()) {
    sandbox->timer->cancel();
    return;
  }
  sandbox->timer->expires_at(next);
  sandbox->timer->async_wait([this, sandbox](const boost::system::error_code& error) {
    if (!error) act_in_time(sandbox);
  });
}

void Daytona::act_in_time(const SandboxPointer& sandbox) {
  const auto now = Clock::now();
  if (due(*sandbox) > now) return arm(sandbox);
  const bool between = sandbox->state == "creating" || sandbox->state == "stopping";
  if (between) {
    sandbox->timer->expires_after(kLater);
    sandbox->timer->async_wait([this, sandbox](const boost::system::error_code& error) {
      if (!error) act_in_time(sandbox);
    });
    return;
  }
  const bool over = sandbox->ttl_minutes > 0 && sandbox->made + sandbox->ttl_minutes * minute_ <= now;
  if (over || sandbox->state == "stopped") {
    destroy(sandbox);
  } else {
    boost::asio::co_spawn(machines_.executor(), halt(sandbox), boost::asio::detached);
  }
}

// Memory is lost, the disk is kept: every process ends and the files stay.
Task<void> Daytona::halt(SandboxPointer sandbox) {
  sandbox->desired = "stopped";
  sandbox->state = "stopping";
  if (sandbox->guest != nullptr) co_await sandbox->guest->end_all();
  sandbox->sessions.clear();
  sandbox->contexts.clear();
  if (sandbox->desired == "destroyed") co_return;
  sandbox->state = "stopped";
  sandbox->stopped = Clock::now();
  sandbox->updated_at = now_text();
  if (sandbox->auto_delete_minutes == 0) {
    destroy(sandbox);
  } else {
    arm(sandbox);
  }
}

}  // namespace berth::standins::daytona
