// Sandboxes through the lifecycle, without the tool that runs programs in them.
#ifndef BERTH_TOOLS_BENCH_SANDBOXES_HELD_H_
#define BERTH_TOOLS_BENCH_SANDBOXES_HELD_H_

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "core/lifecycle/with_sandbox.h"
#include "tools/bench/sandboxes/local_host.h"

namespace berth::bench {

SandboxRequest sandbox_request(LocalHost& host, const Setting& setting);

// /bin/true in a sandbox. The end of it is the body's.
Task<BodyResult> run_true(Sandbox& sandbox);

// A sandbox that is kept alive until it is let go.
class Held {
 public:
  // Returns once it is confirmed.
  static Task<Result<std::shared_ptr<Held>>> make(LocalHost& host, Setting& setting);

  // Valid until let_go.
  Sandbox& sandbox() { return *sandbox_; }

  // How long it took from the wish to be rid of it until nothing was left, as the receipt has it.
  Task<Result<Duration>> let_go();

 private:
  explicit Held(Setting& setting);
  static Task<void> live(std::shared_ptr<Held> self, LocalHost& host, Setting& setting);
  Task<BodyResult> stay(Sandbox& sandbox);

  boost::asio::steady_timer confirmed_;  // cancelled when it is so
  boost::asio::steady_timer leave_;
  boost::asio::steady_timer ended_;
  Sandbox* sandbox_ = nullptr;
  std::optional<CallEnd> end_;
};

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_SANDBOXES_HELD_H_
