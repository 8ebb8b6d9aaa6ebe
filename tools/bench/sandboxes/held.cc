#include "tools/bench/sandboxes/held.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace berth::bench {
namespace {

class Drop final : public OutputSink {
 public:
  Flow write(Stream, std::string_view) override { return Flow::kContinue; }
  void on_resume(std::function<void()>) override {}
};

// A gate is a timer that never ends by itself.
Task<void> pass(boost::asio::steady_timer& gate) {
  co_await gate.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

void open(boost::asio::steady_timer& gate) {
  gate.expires_at(boost::asio::steady_timer::time_point::min());
}

}  // namespace

SandboxRequest sandbox_request(LocalHost& host, const Setting& setting) {
  SandboxRequest request;
  request.key = host.next_key();
  request.spec_canonical = "{}";
  request.spec.languages = {"python"};
  request.cancellation = &setting.stop;
  return request;
}

Task<BodyResult> run_true(Sandbox& sandbox) {
  Drop drop;
  Command command;
  command.argv = {"/bin/true"};
  const Answer<RunEnd> answer = co_await sandbox.run(std::move(command), drop);
  BodyResult result;
  result.message = answer.outcome.message;
  if (answer.outcome.done() && answer.value.exit_code == 0) {
    result.kind = BodyResult::Kind::kCompleted;
    result.document = "{}";
    result.run_end = answer.value;
  }
  co_return result;
}

Held::Held(Setting& setting)
    : confirmed_(setting.executor, boost::asio::steady_timer::time_point::max()),
      leave_(setting.executor, boost::asio::steady_timer::time_point::max()),
      ended_(setting.executor, boost::asio::steady_timer::time_point::max()) {}

Task<BodyResult> Held::stay(Sandbox& sandbox) {
  sandbox_ = &sandbox;
  open(confirmed_);
  co_await pass(leave_);
  sandbox_ = nullptr;
  BodyResult result;
  result.kind = BodyResult::Kind::kCompleted;
  result.document = "{}";
  co_return result;
}

Task<void> Held::live(std::shared_ptr<Held> self, LocalHost& host, Setting& setting) {
  const auto woken = setting.stop.subscribe([&leave = self->leave_] { open(leave); });
  Body body = [self](Sandbox& sandbox) { return self->stay(sandbox); };
  SandboxRequest request = sandbox_request(host, setting);
  self->end_ = co_await with_sandbox(host.services(), std::move(request), std::move(body));
  open(self->confirmed_);
  open(self->ended_);
}

Task<Result<std::shared_ptr<Held>>> Held::make(LocalHost& host, Setting& setting) {
  const std::shared_ptr<Held> made(new Held(setting));
  boost::asio::co_spawn(setting.executor, live(made, host, setting), [](std::exception_ptr problem) {
    if (problem) std::rethrow_exception(problem);
  });
  co_await pass(made->confirmed_);
  if (made->sandbox_ != nullptr) co_return made;
  co_return fail(ErrorKind::kInternal, "a sandbox could not be made: " +
                                           (made->end_ ? made->end_->message : "it is gone"));
}

Task<Result<Duration>> Held::let_go() {
  open(leave_);
  co_await pass(ended_);
  if (end_->status != CallEnd::Status::kCompleted || !end_->receipt) {
    co_return fail(ErrorKind::kInternal, "a sandbox did not end in order: " + end_->message);
  }
  for (const auto& [phase, took_us] : end_->receipt->timings_us) {
    if (phase == "cleanup") co_return std::chrono::microseconds(took_us);
  }
  co_return fail(ErrorKind::kInternal, "a receipt says nothing of the cleanup");
}

}  // namespace berth::bench
