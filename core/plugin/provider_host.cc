#include "core/plugin/provider_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "core/plugin/host_operation.h"

namespace berth::plugin {
namespace {

constexpr std::size_t kWaitingMax = 4096;
constexpr std::size_t kViolationsMax = 256;
constexpr std::uint32_t kViolationLinesPerSecond = 50;

Reply unsent(std::string why) {
  return reply_of(OutcomeClass::kRejected, OutcomeCode::kHostUnsent, std::move(why));
}

// What works inside a sandbox is counted against it. Finding and ending one is not: a sandbox whose
// program hangs must still be destroyed.
bool works_inside(Slot slot) {
  return slot == Slot::kRun || slot == Slot::kPutFile || slot == Slot::kGetFile;
}

// Saturating, since a deadline may be "never".
Instant later_by(Instant when, Duration delay) {
  return when > Instant::max() - delay ? Instant::max() : when + delay;
}

}  // namespace

// Ends an operation whose awaiting coroutine is destroyed: nothing of it is referred to afterwards.
struct ProviderHost::Detacher {
  std::shared_ptr<ProviderHost> host;
  OperationPointer operation;
  ~Detacher() { host->forget(operation); }
};

ProviderHost::ProviderHost(boost::asio::any_io_executor executor,
                           std::unique_ptr<ChannelSource> source, HostSettings settings)
    : executor_(executor),
      source_(std::move(source)),
      settings_(std::move(settings)),
      timer_(executor),
      backoff_timer_(executor),
      violation_limit_(kViolationLinesPerSecond) {}

ProviderHost::~ProviderHost() { kill(); }

Task<Status> ProviderHost::open(Instant deadline) {
  auto lane = co_await make_lane(deadline);
  if (!lane) co_return fail(lane.error());
  current_ = *lane;
  co_return Status{};
}

Task<Reply> ProviderHost::perform(OperationContext context, Request request, OutputSink* output,
                                  InputSource* input) {
  return perform_on(nullptr, std::move(context), std::move(request), output, input);
}

Task<Reply> ProviderHost::perform_on(LanePointer lane, OperationContext context, Request request,
                                     OutputSink* output, InputSource* input) {
  auto operation = std::make_shared<Operation>();
  operation->slot = request.slot;
  operation->deadline = context.deadline;
  if (refused_at_once(*operation, context)) co_return std::move(operation->reply);
  operation->id = ++last_op_;
  operation->subject = subject_of(request);
  operation->on_stage = std::move(context.on_stage);
  operation->cancellation = context.cancellation;
  operation->output = output;
  operation->input = input;
  operation->input_ended = input == nullptr;
  request.deadline = context.deadline;
  request.has_input = input != nullptr;
  operation->request = std::move(request);
  operations_.emplace(operation->id, operation);
  const Detacher detacher{shared_from_this(), operation};

  const OpId id = operation->id;
  if (output != nullptr)
    output->on_resume([host = weak_from_this(), id] {
      if (const auto self = host.lock()) self->resume_output(id);
    });
  if (input != nullptr)
    input->on_ready([host = weak_from_this(), id] {
      const auto self = host.lock();
      const OperationPointer found = self ? self->find(id) : nullptr;
      if (!found || found->state != Operation::State::kSent || !found->lane) return;
      self->pump_input(*found);
      found->lane->channel->flush();
    });
  if (operation->cancellation != nullptr)
    operation->subscription =
        operation->cancellation->subscribe([this, id] { on_cancellation(id); });

  if (lane != nullptr)
    dispatch(operation, lane);
  else
    enqueue(operation);
  if (!operation->settled()) co_await operation->waiter.wait();
  co_return std::move(operation->reply);
}

bool ProviderHost::refused_at_once(Operation& operation, const OperationContext& context) {
  if (closing_ && operation.slot != Slot::kShutdown)
    operation.reply = unsent("the provider is being closed");
  else if (context.cancellation != nullptr && context.cancellation->requested())
    operation.reply = unsent(fmt::format("{} was cancelled before it was sent", to_string(operation.slot)));
  else if (context.deadline <= now())
    operation.reply =
        unsent(fmt::format("the deadline of {} had passed before it was sent", to_string(operation.slot)));
  else
    return false;
  return true;
}

void ProviderHost::enqueue(const OperationPointer& operation) {
  if (operation->settled()) return;
  if (waiting_.size() >= kWaitingMax)
    return settle(operation, unsent(fmt::format("{} operations wait for this provider already",
                                                waiting_.size())), true);
  waiting_.push_back(operation);
  dispatch_waiting();
  if (operation->state == Operation::State::kWaiting) arm(operation->deadline);
}

void ProviderHost::dispatch_waiting() {
  if (dispatching_) return;
  dispatching_ = true;
  while (!waiting_.empty()) {
    if (current_ == nullptr) {
      if (closing_ || !source_->restartable()) {
        settle_waiting("the provider is no longer there");
      } else if (!relaunching_) {
        relaunching_ = true;
        boost::asio::co_spawn(executor_, relaunch(), boost::asio::detached);
      }
      break;
    }
    if (current_->open >= settings_.concurrency) break;
    const auto next = next_in_turn();
    if (next == waiting_.end()) break;
    const OperationPointer operation = std::move(*next);
    waiting_.erase(next);
    if (operation->deadline <= now())
      settle(operation, unsent(fmt::format("the deadline of {} passed while it waited for its turn",
                                           to_string(operation->slot))), true);
    else
      dispatch(operation, current_);
  }
  dispatching_ = false;
}

std::deque<ProviderHost::OperationPointer>::iterator ProviderHost::next_in_turn() {
  return std::find_if(waiting_.begin(), waiting_.end(), [&](const OperationPointer& operation) {
    if (!works_inside(operation->slot)) return true;
    const auto found = inside_.find(operation->subject);
    return found == inside_.end() || found->second < settings_.concurrency_per_sandbox;
  });
}

void ProviderHost::dispatch(const OperationPointer& operation, const LanePointer& lane) {
  if (operation->settled()) return;
  if (works_inside(operation->slot)) {
    operation->inside = true;
    ++inside_[operation->subject];
  }
  operation->state = Operation::State::kSent;
  operation->lane = lane;
  ++lane->open;
  ++nested_;
  const auto channel = lane->channel;
  channel->start(operation->id, std::move(operation->request));
  pump_input(*operation);
  channel->flush();
  --nested_;
  if (!operation->settled()) arm(next_event(*operation));
}

void ProviderHost::settle(const OperationPointer& operation, Reply reply, bool later) {
  if (operation->settled()) return;
  if (reply.outcome.outcome_class == OutcomeClass::kUnset)
    reply.outcome.outcome_class = OutcomeClass::kUncertain;
  if (reply.outcome.stage.empty()) reply.outcome.stage = operation->stage;
  operation->reply = std::move(reply);
  operation->state = Operation::State::kSettled;
  operation->output = nullptr;
  operation->input = nullptr;
  operation->on_stage = nullptr;
  operation->held.clear();
  operation->subscription.reset();
  operations_.erase(operation->id);
  if (later || nested_ > 0) return operation->waiter.wake_later(executor_);
  ++nested_;
  operation->waiter.wake_now();
  --nested_;
}

void ProviderHost::settle_waiting(const std::string& why) {
  auto waiting = std::move(waiting_);
  waiting_.clear();
  for (const OperationPointer& operation : waiting) settle(operation, unsent(why), true);
}

void ProviderHost::detach(const OperationPointer& operation, OutcomeCode code,
                          const std::string& why, bool later) {
  if (operation->settled()) return;
  if (!operation->cancel_sent) send_cancel(*operation, now());
  const LanePointer lane = operation->lane;
  settle(operation, reply_of(OutcomeClass::kUncertain, code, why), later);
  if (lane == nullptr || lane->closed) return;
  // The answer may still come, as evidence.
  operation->state = Operation::State::kDetached;
  operations_.emplace(operation->id, operation);
  ++lane->detached;
  operation->give_up_at = std::min(operation->give_up_at, later_by(now(), settings_.limits.cancel_grace));
  arm(next_event(*operation));
}

void ProviderHost::forget(const OperationPointer& operation) {
  if (operation->settled()) return;
  if (operation->state == Operation::State::kWaiting) {
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), operation), waiting_.end());
    return settle(operation, unsent("nobody waits for it"), true);
  }
  detach(operation, OutcomeCode::kHostDetached, "nobody waits for it any more", true);
}

void ProviderHost::leave_sandbox(Operation& operation) {
  if (!std::exchange(operation.inside, false)) return;
  const auto found = inside_.find(operation.subject);
  if (--found->second == 0) inside_.erase(found);
}

void ProviderHost::leave_lane(Operation& operation) {
  leave_sandbox(operation);
  const LanePointer lane = std::move(operation.lane);
  operation.lane = nullptr;
  if (lane == nullptr) return;
  --lane->open;
  if (operation.state == Operation::State::kDetached) --lane->detached;
  if (lane->draining) end_lane_if_empty(lane, now());
}

void ProviderHost::on_cancellation(OpId op) {
  const OperationPointer operation = find(op);
  if (!operation || operation->settled() || operation->cancellation == nullptr) return;
  const bool abandoned = operation->cancellation->level() == Cancellation::Level::kAbandoned;
  if (operation->state == Operation::State::kWaiting) {
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), operation), waiting_.end());
    settle(operation, unsent(fmt::format("{} was cancelled before it was sent",
                                         to_string(operation->slot))), true);
  } else if (operation->answered) {
    settle(operation, std::move(*operation->answered), true);
  } else if (abandoned) {
    detach(operation, OutcomeCode::kHostDetached,
           fmt::format("{} was abandoned before the provider had answered", to_string(operation->slot)),
           true);
  } else if (!operation->cancel_sent) {
    send_cancel(*operation, now());
    arm(next_event(*operation));
  }
}

void ProviderHost::send_cancel(Operation& operation, Instant when) {
  operation.cancel_sent = true;
  // A create that is cancelled is not given up before its own deadline: what it made must be known.
  const Instant from = operation.slot == Slot::kCreate ? std::max(when, operation.deadline) : when;
  const Duration grace =
      operation.slot == Slot::kShutdown ? Duration::zero() : settings_.limits.cancel_grace;
  operation.give_up_at = later_by(from, grace);
  if (operation.lane == nullptr || operation.lane->closed) return;
  operation.lane->channel->cancel(operation.id);
  operation.lane->channel->flush();
}

ProviderHost::OperationPointer ProviderHost::find(OpId op) const {
  const auto found = operations_.find(op);
  return found == operations_.end() ? nullptr : found->second;
}

bool ProviderHost::slot_of(OpId op, Slot& slot) const {
  const auto found = operations_.find(op);
  if (found == operations_.end()) return false;
  slot = found->second->slot;
  return true;
}

void ProviderHost::on_stage(OpId op, std::string_view stage) {
  const OperationPointer operation = find(op);
  if (!operation || operation->settled()) return;
  operation->stage = stage;
  if (operation->on_stage) operation->on_stage(operation->stage);
}

void ProviderHost::on_completed(OpId op, Reply reply) {
  const OperationPointer operation = find(op);
  if (!operation || operation->lane == nullptr) return;
  const auto self = shared_from_this();
  if (operation->slot != Slot::kOpen) crashes_ = 0;
  if (operation->state == Operation::State::kDetached) {
    operations_.erase(op);
    leave_lane(*operation);
    LateAnswer late{std::string(to_string(operation->slot)), operation->subject,
                    std::move(reply.outcome), {}};
    if (const auto* created = std::get_if<Created>(&reply.value)) late.ref = created->ref;
    if (late_) late_(std::move(late));
    dispatch_waiting();
    return;
  }
  leave_lane(*operation);
  if (operation->output_paused || !operation->held.empty())
    operation->answered = std::move(reply);
  else
    settle(operation, std::move(reply), false);
  dispatch_waiting();
}

void ProviderHost::on_log(LogLevel level, std::string_view line) {
  if (settings_.on_log) settings_.on_log(level, line);
}

void ProviderHost::on_violation(const Violation& violation) {
  std::string text = fmt::format("[{}] {}", violation.clause, violation.text);
  const auto second = static_cast<std::uint64_t>(now().time_since_epoch() / std::chrono::seconds(1));
  switch (violation_limit_.next(second)) {
    case LineLimit::Verdict::kPass:
      if (const std::uint64_t dropped = violation_limit_.take_dropped(); dropped != 0)
        on_log(LogLevel::kWarn, fmt::format("{} more breaches of its contract were not told", dropped));
      on_log(LogLevel::kWarn, "the provider broke its contract: " + text);
      break;
    case LineLimit::Verdict::kDropAndSay:
      on_log(LogLevel::kWarn,
             fmt::format("the provider breaks its contract more than {} times in a second: the rest "
                         "of this second is only counted",
                         violation_limit_.per_second()));
      break;
    case LineLimit::Verdict::kDrop: break;
  }
  violations_.push_back(std::move(text));
  if (violations_.size() > kViolationsMax) violations_.pop_front();
}

Instant ProviderHost::next_event(const Operation& operation) const {
  switch (operation.state) {
    case Operation::State::kWaiting: return operation.deadline;
    case Operation::State::kSent:
      return operation.cancel_sent ? operation.give_up_at : operation.deadline;
    case Operation::State::kDetached:
      return operation.lane && !operation.lane->draining && source_->restartable()
                 ? operation.give_up_at
                 : Instant::max();
    case Operation::State::kSettled: return Instant::max();
  }
  return Instant::max();
}

void ProviderHost::arm(Instant when) {
  if (when >= armed_) return;
  armed_ = when;
  timer_.expires_at(when);
  timer_.async_wait([host = weak_from_this()](const boost::system::error_code& error) {
    const auto self = host.lock();
    if (!error && self) self->sweep();
  });
}

void ProviderHost::sweep() {
  armed_ = Instant::max();
  const Instant when = now();
  std::vector<OperationPointer> due;
  for (const auto& [id, operation] : operations_)
    if (next_event(*operation) <= when) due.push_back(operation);
  for (const OperationPointer& operation : due) sweep_operation(operation, when);
  const auto lanes = lanes_;
  for (const LanePointer& lane : lanes)
    if (lane->draining) end_lane_if_empty(lane, when);
  Instant next = Instant::max();
  for (const auto& [id, operation] : operations_) next = std::min(next, next_event(*operation));
  for (const LanePointer& lane : lanes_)
    if (lane->draining && lane->drain_until > when) next = std::min(next, lane->drain_until);
  arm(next);
  // A worker that was given up may have held the last place in a sandbox.
  dispatch_waiting();
}

void ProviderHost::sweep_operation(const OperationPointer& operation, Instant when) {
  const std::string_view slot = to_string(operation->slot);
  switch (operation->state) {
    case Operation::State::kWaiting:
      waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), operation), waiting_.end());
      settle(operation, unsent(fmt::format("the deadline of {} passed while it waited for its turn",
                                           slot)), true);
      return;
    case Operation::State::kSent: {
      // Answered, and only its reader is behind: the answer stands, the rest of the output does not.
      if (operation->answered) return settle(operation, std::move(*operation->answered), true);
      if (!operation->cancel_sent) {
        send_cancel(*operation, when);
        if (operation->give_up_at > when) return;
      }
      const LanePointer lane = operation->lane;
      const bool late = operation->deadline <= when;
      detach(operation, late ? OutcomeCode::kHostDeadline : OutcomeCode::kHostDetached,
             fmt::format("{} did not end within {} of being cancelled{}", slot,
                         to_human(settings_.limits.cancel_grace),
                         late ? "; its deadline had passed" : ""),
             true);
      drain(lane, when);
      return;
    }
    case Operation::State::kDetached: drain(operation->lane, when); return;
    case Operation::State::kSettled: return;
  }
}

}  // namespace berth::plugin
