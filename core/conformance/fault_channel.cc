#include "core/conformance/fault_channel.h"

#include <boost/asio/steady_timer.hpp>
#include <map>
#include <utility>

#include "core/os/process_tree.h"

namespace berth::conformance {
namespace {

using plugin::Channel;
using plugin::ChannelListener;
using plugin::OpId;

class FaultChannel final : public Channel,
                           public ChannelListener,
                           public std::enable_shared_from_this<FaultChannel> {
 public:
  FaultChannel(boost::asio::any_io_executor executor, std::shared_ptr<Channel> inner,
               std::shared_ptr<const FaultPlan> plan)
      : executor_(std::move(executor)), inner_(std::move(inner)), plan_(std::move(plan)) {}
  ~FaultChannel() override { inner_->set_listener(nullptr); }

  void set_listener(ChannelListener* listener) override {
    listener_ = listener;
    inner_->set_listener(listener != nullptr ? this : nullptr);
  }
  void start(OpId op, plugin::Request request) override {
    const bool meant = request.slot == plan_->slot && plan_->fault != Fault::kNone;
    if (meant) faults_[op] = plan_->fault;
    inner_->start(op, std::move(request));
    if (meant && plan_->fault == Fault::kKill) kill_after(plan_->after);
  }
  void cancel(OpId op) override { inner_->cancel(op); }
  void grant_output(OpId op, std::uint64_t bytes) override { inner_->grant_output(op, bytes); }
  void limit_output(OpId op, Stream stream) override { inner_->limit_output(op, stream); }
  void give_input(OpId op, std::string_view bytes, bool end) override {
    inner_->give_input(op, bytes, end);
  }
  void flush() override { inner_->flush(); }
  bool delivered(OpId op) const override { return inner_->delivered(op); }
  int pid() const override { return inner_->pid(); }
  void kill() override { inner_->kill(); }
  Task<void> end(Instant deadline) override { return inner_->end(deadline); }

  void on_stage(OpId op, std::string_view stage) override { listener_->on_stage(op, stage); }
  void on_output(OpId op, Stream stream, std::string_view bytes) override {
    listener_->on_output(op, stream, bytes);
  }
  void on_input_taken(OpId op, std::uint64_t bytes) override { listener_->on_input_taken(op, bytes); }
  void on_completed(OpId op, plugin::Reply reply) override {
    const auto found = faults_.find(op);
    const Fault fault = found == faults_.end() ? Fault::kNone : found->second;
    if (fault == Fault::kDropReply) return;
    if (fault == Fault::kKillAtReply) return os::kill_child(inner_->pid());
    if (fault == Fault::kRepeatReply) listener_->on_completed(op, reply);
    listener_->on_completed(op, std::move(reply));
  }
  bool slot_of(OpId op, plugin::Slot& slot) const override { return listener_->slot_of(op, slot); }
  void on_log(plugin::LogLevel level, std::string_view line) override { listener_->on_log(level, line); }
  void on_violation(const plugin::Violation& violation) override { listener_->on_violation(violation); }
  void on_closed(Channel&, const std::string& reason) override { listener_->on_closed(*this, reason); }

 private:
  void kill_after(Duration delay) {
    auto timer = std::make_shared<boost::asio::steady_timer>(executor_);
    timer->expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay));
    timer->async_wait([timer, self = weak_from_this()](boost::system::error_code error) {
      const auto here = self.lock();
      // As a crash would: the channel is not told.
      if (!error && here) os::kill_child(here->inner_->pid());
    });
  }

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Channel> inner_;
  std::shared_ptr<const FaultPlan> plan_;
  ChannelListener* listener_ = nullptr;
  std::map<OpId, Fault> faults_;
};

class FaultSource final : public plugin::ChannelSource {
 public:
  FaultSource(boost::asio::any_io_executor executor, std::unique_ptr<plugin::ChannelSource> inner,
              std::shared_ptr<const FaultPlan> plan)
      : executor_(std::move(executor)), inner_(std::move(inner)), plan_(std::move(plan)) {}

  bool restartable() const override { return inner_->restartable(); }
  Task<Result<std::shared_ptr<Channel>>> make() override {
    BERTH_CO_TRY(std::shared_ptr<Channel> channel, co_await inner_->make());
    co_return std::static_pointer_cast<Channel>(
        std::make_shared<FaultChannel>(executor_, std::move(channel), plan_));
  }
  void opened(const Outcome& outcome) override { inner_->opened(outcome); }

 private:
  boost::asio::any_io_executor executor_;
  std::unique_ptr<plugin::ChannelSource> inner_;
  std::shared_ptr<const FaultPlan> plan_;
};

}  // namespace

std::unique_ptr<plugin::ChannelSource> faulty_source(boost::asio::any_io_executor executor,
                                                     std::unique_ptr<plugin::ChannelSource> inner,
                                                     std::shared_ptr<const FaultPlan> plan) {
  return std::make_unique<FaultSource>(std::move(executor), std::move(inner), std::move(plan));
}

}  // namespace berth::conformance
