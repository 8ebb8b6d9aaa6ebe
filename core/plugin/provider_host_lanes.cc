// ProviderHost: starting, replacing, draining and ending loaded copies of the provider.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/plugin/host_operation.h"
#include "core/plugin/provider_host.h"

namespace berth::plugin {
namespace {

Task<void> sleep_until(boost::asio::steady_timer& timer, Instant when) {
  boost::system::error_code ignored;
  timer.expires_at(when);
  co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

}  // namespace

Task<Result<ProviderHost::LanePointer>> ProviderHost::make_lane(Instant deadline) {
  const auto self = shared_from_this();
  auto channel = co_await source_->make();
  if (!channel) co_return fail(channel.error());
  auto lane = std::make_shared<Lane>();
  lane->channel = std::move(*channel);
  lane->channel->set_listener(this);
  lanes_.push_back(lane);
  OperationContext context;
  context.deadline = std::min(deadline, now() + settings_.limits.open_deadline);
  Request request;
  request.slot = Slot::kOpen;
  request.arguments = settings_.open;
  const Reply reply = co_await perform_on(lane, std::move(context), std::move(request), nullptr, nullptr);
  source_->opened(reply.outcome);
  if (reply.outcome.done()) co_return lane;
  drop_lane(lane);
  co_return fail(ErrorKind::kUnavailable,
                 fmt::format("the provider cannot be opened: {}: {}", to_string(reply.outcome.code),
                             reply.outcome.message));
}

Duration ProviderHost::backoff() const {
  const std::uint32_t doublings = std::min<std::uint32_t>(crashes_ == 0 ? 0 : crashes_ - 1, 20);
  const Duration delay = settings_.limits.restart_backoff * (std::int64_t{1} << doublings);
  return std::min<Duration>(delay, settings_.limits.restart_backoff_max);
}

void ProviderHost::count_crash() {
  ++crashes_;
  crashed_at_ = now();
}

Task<void> ProviderHost::relaunch() {
  const auto self = shared_from_this();
  if (crashes_ > 0) co_await sleep_until(backoff_timer_, crashed_at_ + backoff());
  if (closing_) {
    relaunching_ = false;
    settle_waiting("the provider is being closed");
    co_return;
  }
  const std::uint32_t crashes_before = crashes_;
  auto lane = co_await make_lane(now() + settings_.limits.load_deadline + settings_.limits.open_deadline);
  relaunching_ = false;
  if (!lane) {
    if (crashes_ == crashes_before) count_crash();
    settle_waiting(fmt::format("the provider could not be started again: {}", lane.error().message()));
    co_return;
  }
  if (closing_) {
    drop_lane(*lane);
    co_return;
  }
  current_ = *lane;
  dispatch_waiting();
}

void ProviderHost::on_closed(Channel& channel, const std::string& reason) {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(), [&](const LanePointer& lane) {
    return lane->channel.get() == &channel;
  });
  if (found == lanes_.end()) return;
  const LanePointer lane = *found;
  lane->closed = true;
  lanes_.erase(found);
  if (current_ == lane) current_ = nullptr;
  if (!lane->draining && !closing_) count_crash();
  std::vector<OperationPointer> affected;
  for (const auto& [id, operation] : operations_)
    if (operation->lane == lane) affected.push_back(operation);
  for (const OperationPointer& operation : affected) {
    const bool delivered = channel.delivered(operation->id);
    leave_sandbox(*operation);
    operation->lane = nullptr;
    if (operation->state == Operation::State::kDetached) {
      operations_.erase(operation->id);
      operation->state = Operation::State::kSettled;
      continue;
    }
    settle(operation,
           reply_of(delivered ? OutcomeClass::kUncertain : OutcomeClass::kRejected,
                    delivered ? OutcomeCode::kHostWorkerDied : OutcomeCode::kHostUnsent,
                    fmt::format("the provider's worker ended during {}: {}",
                                to_string(operation->slot), reason)),
           true);
  }
  lane->open = 0;
  lane->detached = 0;
  if (!affected.empty() || !closing_)
    on_log(LogLevel::kError, fmt::format("the provider's worker ended: {}", reason));
  dispatch_waiting();
}

void ProviderHost::drain(const LanePointer& lane, Instant when) {
  if (lane == nullptr || lane->draining || lane->closed || !source_->restartable()) return;
  lane->draining = true;
  lane->drain_until = when + settings_.limits.drain_bound;
  if (current_ == lane) current_ = nullptr;
  on_log(LogLevel::kWarn,
         fmt::format("worker {} drains: an operation ignores its cancellation; new work goes to "
                     "another worker",
                     lane->channel->pid()));
  end_lane_if_empty(lane, when);
  if (!lane->closed) arm(lane->drain_until);
  dispatch_waiting();
}

// Operations that somebody waits for keep a draining worker alive beyond its bound: they have
// deadlines of their own.
void ProviderHost::end_lane_if_empty(const LanePointer& lane, Instant when) {
  if (!lane->draining || lane->closed || lane->open > lane->detached) return;
  if (lane->open == 0 || when >= lane->drain_until) drop_lane(lane);
}

void ProviderHost::drop_lane(const LanePointer& lane) {
  if (lane->closed) return;
  lane->closed = true;
  lane->channel->set_listener(nullptr);
  lane->channel->kill();
  lanes_.erase(std::remove(lanes_.begin(), lanes_.end(), lane), lanes_.end());
  if (current_ == lane) current_ = nullptr;
  std::vector<OperationPointer> affected;
  for (const auto& [id, operation] : operations_)
    if (operation->lane == lane) affected.push_back(operation);
  for (const OperationPointer& operation : affected) {
    leave_sandbox(*operation);
    operation->lane = nullptr;
    if (operation->state == Operation::State::kDetached) {
      operations_.erase(operation->id);
      operation->state = Operation::State::kSettled;
    } else {
      settle(operation,
             reply_of(OutcomeClass::kUncertain, OutcomeCode::kHostWorkerDied,
                      fmt::format("the provider was ended during {}", to_string(operation->slot))),
             true);
    }
  }
  lane->open = 0;
  lane->detached = 0;
}

bool ProviderHost::has_open_operations() const {
  return std::any_of(operations_.begin(), operations_.end(),
                     [](const auto& item) { return !item.second->settled(); });
}

Task<void> ProviderHost::close(Instant deadline) {
  const auto self = shared_from_this();
  if (closing_) co_return;
  closing_ = true;
  backoff_timer_.cancel();
  settle_waiting("the provider is being closed");
  std::vector<OperationPointer> open;
  for (const auto& [id, operation] : operations_)
    if (!operation->settled()) open.push_back(operation);
  for (const OperationPointer& operation : open)
    if (!operation->cancel_sent) {
      send_cancel(*operation, now());
      arm(next_event(*operation));
    }
  boost::asio::steady_timer pause(executor_);
  while (has_open_operations() && now() < deadline)
    co_await sleep_until(pause, std::min(deadline, now() + std::chrono::milliseconds(5)));
  if (const LanePointer lane = current_; lane != nullptr && now() < deadline) {
    OperationContext context;
    context.deadline = deadline;
    Request request;
    request.slot = Slot::kShutdown;
    const Reply reply = co_await perform_on(lane, std::move(context), std::move(request), nullptr, nullptr);
    if (reply.outcome.done() && !lane->closed) {
      lane->channel->set_listener(nullptr);
      co_await lane->channel->end(deadline);
    }
  }
  kill();
}

void ProviderHost::kill() {
  closing_ = true;
  const auto lanes = lanes_;
  for (const LanePointer& lane : lanes) drop_lane(lane);
}

std::vector<int> ProviderHost::worker_pids() const {
  std::vector<int> pids;
  for (const LanePointer& lane : lanes_)
    if (lane->channel->pid() > 0) pids.push_back(lane->channel->pid());
  return pids;
}

}  // namespace berth::plugin
