// The private parts of ProviderHost: a lane and an operation.
#ifndef BERTH_CORE_PLUGIN_HOST_OPERATION_H_
#define BERTH_CORE_PLUGIN_HOST_OPERATION_H_

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/plugin/provider_host.h"
#include "core/plugin/waiter.h"

namespace berth::plugin {

// One loaded copy of the provider.
struct ProviderHost::Lane {
  std::shared_ptr<Channel> channel;
  std::size_t open = 0;      // operations it has not answered, detached ones included
  std::size_t detached = 0;  // of them, those nobody waits for
  bool draining = false;
  bool closed = false;
  Instant drain_until{};
};

struct ProviderHost::Operation {
  enum class State {
    kWaiting,   // not handed to a channel
    kSent,
    kDetached,  // settled without an answer, which may still come
    kSettled,
  };

  OpId id = 0;
  Slot slot = Slot::kProbe;
  std::string subject;
  State state = State::kWaiting;
  Request request;  // while waiting
  LanePointer lane;
  bool inside = false;  // counted among those inside its sandbox
  Instant deadline;
  bool cancel_sent = false;
  Instant give_up_at = Instant::max();  // once cancelled
  std::string stage;
  std::function<void(std::string_view)> on_stage;
  Cancellation* cancellation = nullptr;
  Cancellation::Subscription subscription;
  Reply reply;
  Waiter waiter;

  OutputSink* output = nullptr;
  bool output_paused = false;
  std::deque<std::pair<Stream, std::string>> held;  // at most a window, while paused
  std::uint64_t held_bytes = 0;
  std::uint64_t owed_credit = 0;     // delivered to the sink, not yet granted again
  std::uint64_t unacknowledged = 0;  // received and not yet granted again
  std::array<bool, 3> limited{};
  std::optional<Reply> answered;     // held back until the output before it is delivered

  InputSource* input = nullptr;
  std::uint64_t input_credit = kInputWindowBytes;
  bool input_ended = true;

  bool settled() const { return state == State::kDetached || state == State::kSettled; }
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_HOST_OPERATION_H_
