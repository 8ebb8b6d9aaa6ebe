// Call: one run of with_sandbox. Internal to core/lifecycle.
#ifndef BERTH_CORE_LIFECYCLE_CALL_H_
#define BERTH_CORE_LIFECYCLE_CALL_H_

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/lifecycle/clock.h"
#include "core/lifecycle/commits.h"
#include "core/lifecycle/in_flight.h"
#include "core/lifecycle/signal.h"
#include "core/lifecycle/with_sandbox.h"

namespace berth {

// Shared by the call's own coroutine, its deadline watch and its delete, which are all on one loop.
class Call final : public Sandbox, public std::enable_shared_from_this<Call> {
 public:
  Call(LifecycleServices& services, SandboxRequest request, boost::asio::any_io_executor executor);

  // The whole call. Once per object.
  Task<CallEnd> proceed(Body body);

  const ProviderIdentity& provider() const override { return services_.provider.identity(); }
  Task<Answer<RunEnd>> run(Command command, OutputSink& output) override;
  Task<Answer<Nothing>> put_file(PutFile file, InputSource& input) override;
  Task<Answer<FileGot>> get_file(GetFile file, OutputSink& output) override;
  void add_timing(std::string_view phase, Duration took) override;

 private:
  // Before the sandbox.
  void watch_caller();
  void watch_deadline();
  void stop(Cancellation::Reason reason);
  Task<CallEnd> reserve_and_go(Body body);
  Task<CallEnd> answer_unknown_reservation(bool inserted, Error error);
  CallEnd answer_as(Intent earlier, std::optional<Receipt> receipt);
  Intent make_intent() const;
  // Nothing when dispatched; else how the call ended before dispatch.
  Task<std::optional<CallEnd>> prepare_and_dispatch();

  // With the sandbox.
  Task<CallEnd> create_and_go(Body body);
  Task<CallEnd> confirm_and_go(Event created, Body body);
  Task<CallEnd> run_body(Body body);
  Task<CallEnd> clean_and_release(std::vector<Event> events);

  // The one delete.
  void start_delete();
  Task<void> ensure_deleted();
  Task<void> delete_until_confirmed();

  // The end.
  Task<CallEnd> release_unsent(Settlement settlement, std::string message);
  Task<CallEnd> retain_uncertain(Step step);
  Task<CallEnd> retain_cleaning(std::vector<Event> events);
  Task<Result<Effects>> commit_persistently(Step step);
  Task<Result<Effects>> commit(Step step);
  CallEnd ended(CallEnd::Status status, ErrorKind kind, std::string message) const;
  CallEnd settled(Settlement settlement, std::string message);
  CallEnd uncertain();
  CallEnd retained(const Error& error, std::string_view what) const;
  Settling settling(Settlement settlement);
  // What a failure is settled as: the caller's cancel is what the caller sees.
  Settlement failed_as(Settlement otherwise) const;
  std::string why_stopped() const;
  std::string failure_message() const;

  template <class T, class Ask>
  Task<Answer<T>> operate(Ask ask);
  OperationContext context(Instant deadline, Cancellation* cancellation);
  Event event(EventKind kind, std::string evidence = {}) const;
  void note_stage(std::string_view stage);

  LifecycleServices& services_;
  SandboxRequest request_;
  boost::asio::any_io_executor executor_;
  Pricing pricing_;
  std::string name_;
  std::string spec_digest_;
  Instant started_;
  Instant deadline_;
  std::optional<Progress> progress_;

  Cancellation stop_;       // rises for the caller, the deadline and the host's end
  Cancellation body_stop_;  // of the body's operations; abandoned once the sandbox is gone
  std::unique_ptr<Alarm> deadline_alarm_;
  Cancellation::Subscription caller_subscription_;
  bool sandbox_confirmed_ = false;  // from here on a stop starts the delete
  bool tainted_ = false;

  bool delete_started_ = false;
  bool delete_ended_ = false;
  Answer<Destroyed> deleted_;
  Signal delete_ended_signal_;

  std::string stage_;
  BodyResult body_result_;
  std::vector<std::pair<std::string, std::int64_t>> timings_us_;
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_CALL_H_
