// The way in: from the request to a confirmed sandbox and its body. The way out is in call_end.cc.
#include "core/lifecycle/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <exception>
#include <utility>

#include "core/base/sha256.h"
#include "core/lifecycle/guards.h"
#include "core/lifecycle/names.h"
#include "core/lifecycle/removal.h"
#include "core/lifecycle/replay.h"

namespace berth {
namespace {

constexpr std::size_t kStageBytesMax = 128;
constexpr std::size_t kTimingsMax = 32;

std::int64_t to_us(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

}  // namespace

Call::Call(LifecycleServices& services, SandboxRequest request,
           boost::asio::any_io_executor executor)
    : services_(services),
      request_(std::move(request)),
      executor_(std::move(executor)),
      pricing_{services.price, services.billing},
      spec_digest_(sha256_hex(request_.spec_canonical)),
      started_(services.clock.now()),
      deadline_(started_ + request_.deadline.value_or(services.limits.application_deadline)) {}

Task<CallEnd> Call::proceed(Body body) {
  if (guard(Guard::kNotCancelledYet) && request_.cancellation != nullptr &&
      request_.cancellation->requested())
    co_return ended(CallEnd::Status::kCancelled, ErrorKind::kCancelled,
                    "cancelled before anything was reserved");
  const Result<const Scope*> scope = co_await current_scope(services_);
  if (!scope)
    co_return ended(CallEnd::Status::kInfrastructureError, scope.error().kind(),
                    scope.error().message());
  Result<std::string> name = intent_name(**scope, request_.key);
  if (!name)
    co_return ended(CallEnd::Status::kRefused, name.error().kind(), name.error().message());
  name_ = std::move(*name);

  const std::shared_ptr<InFlight> in_flight = services_.in_flight;
  std::unique_ptr<InFlight::Place> place = in_flight->try_enter(name_);
  while (place == nullptr) {
    // Another delivery of this call, or a reconcile: what it leaves behind answers this one.
    co_await in_flight->wait(name_, request_.cancellation);
    if (request_.cancellation != nullptr && request_.cancellation->requested())
      co_return ended(CallEnd::Status::kCancelled, ErrorKind::kCancelled,
                      "cancelled while another delivery of this call was in progress");
    place = in_flight->try_enter(name_);
  }
  watch_caller();
  watch_deadline();
  CallEnd end = co_await reserve_and_go(std::move(body));
  deadline_alarm_.reset();
  caller_subscription_.reset();
  co_return end;
}

void Call::watch_caller() {
  if (request_.cancellation == nullptr) return;
  caller_subscription_ = request_.cancellation->subscribe([call = weak_from_this()] {
    if (const auto self = call.lock()) self->stop(self->request_.cancellation->reason());
  });
}

void Call::watch_deadline() {
  deadline_alarm_ = services_.clock.alarm(executor_, deadline_, [call = weak_from_this()] {
    if (const auto self = call.lock()) self->stop(Cancellation::Reason::kDeadline);
  });
}

void Call::stop(Cancellation::Reason reason) {
  if (stop_.requested()) return;
  stop_.request(reason == Cancellation::Reason::kNone ? Cancellation::Reason::kCaller : reason);
  body_stop_.request(stop_.reason());
  if (sandbox_confirmed_) start_delete();
}

Intent Call::make_intent() const {
  const ProviderIdentity& identity = provider();
  Intent intent;
  intent.name = name_;
  intent.key = request_.key;
  intent.turn = request_.turn.empty() ? request_.key.call : request_.turn;
  intent.provider_id = identity.id;
  intent.provider_version = identity.version;
  intent.provider_digest = identity.digest;
  intent.spec_digest = spec_digest_;
  intent.scope = *services_.in_flight->scope;
  intent.holder = services_.self;
  intent.created_at = services_.clock.wall_now();
  intent.updated_at = intent.created_at;
  intent.last_stage = "reserve";
  return intent;
}

Task<CallEnd> Call::reserve_and_go(Body body) {
  note_stage("reserve");
  const bool dispatch = !request_.prepare;
  ReserveRequest wanted;
  wanted.intent = make_intent();
  wanted.dispatch = dispatch;
  wanted.application = request_.application;
  Result<Reserved> reserved = co_await reserve(services_.store, pricing_, std::move(wanted));
  if (!reserved) {
    const ErrorKind kind = reserved.error().kind();
    const bool by_rule = kind == ErrorKind::kRefused || kind == ErrorKind::kConflict;
    co_return ended(by_rule ? CallEnd::Status::kRefused : CallEnd::Status::kInfrastructureError,
                    kind, reserved.error().message());
  }
  if (reserved->unknown && guard(Guard::kCommitKnown))
    co_return co_await answer_unknown_reservation(reserved->intent.has_value(),
                                                  std::move(*reserved->unknown));
  if (reserved->earlier)
    co_return answer_as(std::move(*reserved->earlier), std::move(reserved->receipt));
  progress_.emplace(std::move(*reserved->intent));
  add_timing("reserve", services_.clock.now() - started_);
  if (!dispatch) {
    std::optional<CallEnd> end = co_await prepare_and_dispatch();
    if (end) co_return std::move(*end);
  }
  if (stop_.requested())
    co_return co_await release_unsent(failed_as(Settlement::kCancelled), why_stopped());
  co_return co_await create_and_go(std::move(body));
}

CallEnd Call::answer_as(Intent earlier, std::optional<Receipt> receipt) {
  const Holder& holder = earlier.holder;
  const bool held = earlier.state != IntentState::kReleased && holder != Holder{} &&
                    holder != services_.self && !services_.holders.is_dead(holder);
  const std::string held_by = held ? services_.holders.describe(holder) : std::string();
  return answer_again(std::move(earlier), std::move(receipt), spec_digest_,
                      services_.clock.wall_now(), held_by);
}

// The commit may have arrived. What is stored says; nothing is asked of the provider.
Task<CallEnd> Call::answer_unknown_reservation(bool inserted, Error error) {
  Result<Reserved> found = co_await read_call(services_.store, request_.key);
  if (!found) services_.holders.leave_word(name_, error.message());
  if (!found)
    co_return ended(
        CallEnd::Status::kInfrastructureError, ErrorKind::kUnknownOutcome,
        fmt::format("the reservation of '{}' may or may not be stored ({}); nothing was "
                    "asked of the provider; see `berth reconcile --name {}`",
                    name_, error.message(), name_));
  if (!found->earlier)
    co_return ended(
        CallEnd::Status::kInfrastructureError, ErrorKind::kUnavailable,
        fmt::format("the reservation could not be committed ({}); nothing was stored or "
                    "asked of the provider",
                    error.message()));
  // Only what this very call has inserted is known to be unsent.
  const bool own =
      inserted && found->earlier->holder == services_.self && found->earlier->revision == 1;
  if (!own)
    co_return answer_as(std::move(*found->earlier), std::move(found->receipt));
  progress_.emplace(std::move(*found->earlier));
  std::string message = fmt::format(
      "the reservation's commit failed ({}); nothing was asked of the provider", error.message());
  co_return co_await release_unsent(failed_as(Settlement::kInfrastructureFailure),
                                    std::move(message));
}

Task<std::optional<CallEnd>> Call::prepare_and_dispatch() {
  const Status prepared = co_await request_.prepare();
  if (stop_.requested())
    co_return co_await release_unsent(failed_as(Settlement::kCancelled), why_stopped());
  if (!prepared)
    co_return co_await release_unsent(Settlement::kRefused, prepared.error().message());
  Step step;
  step.events.push_back(event(EventKind::kDispatch));
  const Result<Effects> dispatched = co_await commit(std::move(step));
  if (dispatched && dispatched->has(Effect::kAskCreate)) co_return std::nullopt;
  if (!dispatched && !guard(Guard::kCommitKnown)) co_return std::nullopt;
  const std::string cause = dispatched ? std::string("refused") : dispatched.error().message();
  std::string message = fmt::format(
      "the dispatch could not be committed ({}); nothing was asked of the provider", cause);
  co_return co_await release_unsent(failed_as(Settlement::kInfrastructureFailure),
                                    std::move(message));
}

Task<CallEnd> Call::create_and_go(Body body) {
  note_stage("create");
  const Instant asked = services_.clock.now();
  CreateSpec spec = std::move(request_.spec);
  spec.owner_tag = services_.host_tag;
  spec.lifetime = services_.limits.sandbox_lifetime;
  // Never cancelled: an abandoned create would be an unknown one. Its own deadline bounds it.
  Answer<Created> answer = co_await services_.provider.create(
      context(asked + services_.limits.create_deadline, nullptr), name_, std::move(spec));
  add_timing("create", services_.clock.now() - asked);
  Event created = event_of_create(std::move(answer), services_.clock.wall_now());
  const bool clean =
      created.kind == EventKind::kCreateRejected || created.kind == EventKind::kCreateFailedClean;
  if (!clean) co_return co_await confirm_and_go(std::move(created), std::move(body));

  const Settlement settlement = failed_as(Settlement::kRefused);
  std::string message = stop_.requested()
                            ? why_stopped()
                            : fmt::format("provider '{}' did not create a sandbox: {}",
                                          provider().id, created.evidence);
  created.evidence = message;
  Step step;
  if (stop_.requested()) step.events.push_back(event(EventKind::kCancel, why_stopped()));
  step.events.push_back(std::move(created));
  step.settling = settling(settlement);
  const Result<Effects> done = co_await commit_persistently(std::move(step));
  if (!done) co_return retained(done.error(), "its refusal could not be recorded");
  co_return settled(settlement, std::move(message));
}

Task<CallEnd> Call::confirm_and_go(Event created, Body body) {
  const EventKind kind = created.kind;
  // What was made elsewhere or under another name is not deleted by guess.
  const bool uncertain_create =
      kind == EventKind::kCreateUncertain ||
      (kind == EventKind::kCreateDone && !is_about(progress_->intent(), created));
  const bool stopped = stop_.requested();
  Step step;
  if (stopped) step.events.push_back(event(EventKind::kCancel, why_stopped()));
  step.events.push_back(std::move(created));
  step.settling = settling(Settlement::kInfrastructureFailure);
  if (uncertain_create) co_return co_await retain_uncertain(std::move(step));

  const Result<Effects> committed = co_await commit(std::move(step));
  sandbox_confirmed_ = true;
  std::vector<Event> events;
  if (kind == EventKind::kCreateFailedDirty) {
    body_result_.message = "the create failed and left something behind";
    co_return co_await clean_and_release(std::move(events));
  }
  const bool never_runs = stop_.requested() && guard(Guard::kCancelledNeverRuns);
  const bool unconfirmed = !committed && guard(Guard::kConfirmationCommitted);
  if (!never_runs && !unconfirmed) co_return co_await run_body(std::move(body));
  if (unconfirmed)
    body_result_.message =
        fmt::format("the confirmation could not be committed ({})", committed.error().message());
  // A create that was answered after the stop is CLEANING by now, or will be with the next commit.
  if (!stopped)
    events.push_back(stop_.requested() ? event(EventKind::kCancel, why_stopped())
                                       : event(EventKind::kFinish, body_result_.message));
  co_return co_await clean_and_release(std::move(events));
}

Task<CallEnd> Call::run_body(Body body) {
  note_stage("run");
  std::vector<Event> events;
  events.push_back(event(EventKind::kRun));
  try {
    body_result_ = co_await body(*this);
  } catch (const std::exception& exception) {
    body_result_ = {};
    body_result_.message = fmt::format("the body threw: {}", exception.what());
  }
  // The deadline bounds the work; the cleanup has a budget of its own.
  deadline_alarm_.reset();
  events.push_back(stop_.requested() ? event(EventKind::kCancel, why_stopped())
                                     : event(EventKind::kFinish, body_result_.message));
  co_return co_await clean_and_release(std::move(events));
}

template <class T, class Ask>
Task<Answer<T>> Call::operate(Ask ask) {
  if (stop_.requested())
    co_return Answer<T>{
        Outcome::make(OutcomeClass::kRejected, OutcomeCode::kCancelled, why_stopped())};
  if (tainted_ && guard(Guard::kUntainted))
    co_return Answer<T>{Outcome::make(OutcomeClass::kRejected, OutcomeCode::kConflict,
                                      "an earlier operation on this sandbox was lost; it is only "
                                      "removed now")};
  Answer<T> answer = co_await ask(context(deadline_, &body_stop_));
  if (!answer.outcome.done()) {
    tainted_ = true;
    // What the deadline itself ended may be heard of before the alarm.
    if (services_.clock.now() >= deadline_) stop(Cancellation::Reason::kDeadline);
  }
  co_return answer;
}

Task<Answer<RunEnd>> Call::run(Command command, OutputSink& output) {
  return operate<RunEnd>([this, command = std::move(command),
                          &output](OperationContext with) mutable {
    return services_.provider.run(std::move(with), progress_->ref(), std::move(command), output);
  });
}

Task<Answer<Nothing>> Call::put_file(PutFile file, InputSource& input) {
  return operate<Nothing>([this, file = std::move(file), &input](OperationContext with) mutable {
    return services_.provider.put_file(std::move(with), progress_->ref(), std::move(file), input);
  });
}

Task<Answer<FileGot>> Call::get_file(GetFile file, OutputSink& output) {
  return operate<FileGot>([this, file = std::move(file), &output](OperationContext with) mutable {
    return services_.provider.get_file(std::move(with), progress_->ref(), std::move(file), output);
  });
}

void Call::add_timing(std::string_view phase, Duration took) {
  const auto same = std::find_if(timings_us_.begin(), timings_us_.end(),
                                 [phase](const auto& timing) { return timing.first == phase; });
  if (same != timings_us_.end()) {
    same->second += to_us(took);
  } else if (timings_us_.size() < kTimingsMax) {
    timings_us_.emplace_back(phase, to_us(took));
  }
}

OperationContext Call::context(Instant deadline, Cancellation* cancellation) {
  OperationContext made;
  made.deadline = deadline;
  made.cancellation = cancellation;
  made.on_stage = [call = weak_from_this()](std::string_view stage) {
    if (const auto self = call.lock()) self->note_stage(stage);
  };
  return made;
}

void Call::note_stage(std::string_view stage) {
  stage_ = stage.substr(0, kStageBytesMax);
  if (request_.on_stage) request_.on_stage(stage_);
}

Event Call::event(EventKind kind, std::string evidence) const {
  Event made;
  made.kind = kind;
  made.at = services_.clock.wall_now();
  made.evidence = std::move(evidence);
  return made;
}

}  // namespace berth
