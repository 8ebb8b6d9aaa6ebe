// ProviderHost: the host's table of operations of one provider, whatever way it is hosted.
//
// Gives every operation its deadline, its cancellation and its grace; moves its data under bounded
// credit; turns what was not answered into an outcome of the host's; replaces a worker that died or
// must drain. Lives on one loop; not thread-safe.
#ifndef BERTH_CORE_PLUGIN_PROVIDER_HOST_H_
#define BERTH_CORE_PLUGIN_PROVIDER_HOST_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/task.h"
#include "core/lifecycle/cancellation.h"
#include "core/lifecycle/provider.h"
#include "core/plugin/channel.h"
#include "core/plugin/line_limit.h"
#include "core/plugin/load.h"
#include "core/plugin/request.h"

namespace berth::plugin {

struct HostSettings {
  HostingLimits limits;
  std::uint32_t concurrency = 1;
  std::uint32_t concurrency_per_sandbox = 1;
  OpenSpec open;
  std::function<void(LogLevel, std::string_view)> on_log;  // may be empty
};

class ProviderHost final : public ChannelListener,
                           public std::enable_shared_from_this<ProviderHost> {
 public:
  ProviderHost(boost::asio::any_io_executor executor, std::unique_ptr<ChannelSource> source,
               HostSettings settings);
  ~ProviderHost() override;

  // Loads and opens the provider for the first time.
  Task<Status> open(Instant deadline);

  // One operation, from its queue to its end. `output` and `input` may be null.
  Task<Reply> perform(OperationContext context, Request request, OutputSink* output,
                      InputSource* input);

  // Refuses new operations, cancels open ones, shuts the provider down and ends its worker.
  Task<void> close(Instant deadline);
  // Ends it without asking.
  void kill();

  void on_late_answer(std::function<void(LateAnswer)> listener) { late_ = std::move(listener); }
  std::vector<std::string> violations() const { return {violations_.begin(), violations_.end()}; }
  std::vector<int> worker_pids() const;

  void on_stage(OpId op, std::string_view stage) override;
  void on_output(OpId op, Stream stream, std::string_view bytes) override;
  void on_input_taken(OpId op, std::uint64_t bytes) override;
  void on_completed(OpId op, Reply reply) override;
  bool slot_of(OpId op, Slot& slot) const override;
  void on_log(LogLevel level, std::string_view line) override;
  void on_violation(const Violation& violation) override;
  void on_closed(Channel& channel, const std::string& reason) override;

 private:
  struct Lane;
  struct Operation;
  struct Detacher;
  using LanePointer = std::shared_ptr<Lane>;
  using OperationPointer = std::shared_ptr<Operation>;

  Task<Reply> perform_on(LanePointer lane, OperationContext context, Request request,
                         OutputSink* output, InputSource* input);
  bool refused_at_once(Operation& operation, const OperationContext& context);
  void enqueue(const OperationPointer& operation);
  void dispatch_waiting();
  // The first that waits and whose sandbox has room for it; waiting_.end() when there is none.
  std::deque<OperationPointer>::iterator next_in_turn();
  void dispatch(const OperationPointer& operation, const LanePointer& lane);
  void settle(const OperationPointer& operation, Reply reply, bool later);
  void settle_waiting(const std::string& why);
  void detach(const OperationPointer& operation, OutcomeCode code, const std::string& why,
              bool later);
  void forget(const OperationPointer& operation);
  void leave_lane(Operation& operation);
  void leave_sandbox(Operation& operation);
  void on_cancellation(OpId op);
  void send_cancel(Operation& operation, Instant now);

  void pump_input(Operation& operation);
  void write_output(Operation& operation, Stream stream, std::string_view bytes);
  void resume_output(OpId op);
  void return_credit(Operation& operation);

  Task<void> relaunch();
  Task<Result<LanePointer>> make_lane(Instant deadline);
  void count_crash();
  Duration backoff() const;
  bool has_open_operations() const;
  void drain(const LanePointer& lane, Instant now);
  void end_lane_if_empty(const LanePointer& lane, Instant now);
  void drop_lane(const LanePointer& lane);

  Instant next_event(const Operation& operation) const;
  void arm(Instant when);
  void sweep();
  void sweep_operation(const OperationPointer& operation, Instant now);

  OperationPointer find(OpId op) const;

  boost::asio::any_io_executor executor_;
  std::unique_ptr<ChannelSource> source_;
  const HostSettings settings_;
  LanePointer current_;
  std::vector<LanePointer> lanes_;  // all that live, current_ included
  std::unordered_map<OpId, OperationPointer> operations_;
  std::deque<OperationPointer> waiting_;
  // Open operations inside each sandbox, by reference; only sandboxes that have any. [CONC-004]
  std::unordered_map<std::string, std::uint32_t> inside_;
  OpId last_op_ = 0;
  boost::asio::steady_timer timer_;
  Instant armed_ = Instant::max();
  boost::asio::steady_timer backoff_timer_;
  std::uint32_t crashes_ = 0;  // in a row, without an operation done in between
  Instant crashed_at_{};
  bool relaunching_ = false;
  bool dispatching_ = false;
  bool closing_ = false;
  int nested_ = 0;  // depth of calls from which no coroutine is resumed directly
  std::function<void(LateAnswer)> late_;
  std::deque<std::string> violations_;
  LineLimit violation_limit_;
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_PROVIDER_HOST_H_
