// What a keeper does between its connections and its provider: whose operation is whose, what a host that
// leaves has left behind, and how many operations run at once.
#ifndef BERTH_CORE_PLUGIN_KEEPER_LOOP_H_
#define BERTH_CORE_PLUGIN_KEEPER_LOOP_H_

#include <poll.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/fd.h"
#include "core/plugin/keeper_connection.h"
#include "core/plugin/keeper_main.h"
#include "core/plugin/worker_events.h"

namespace berth::plugin {

// Everything public belongs to one thread. The provider's events come on any.
class KeeperLoop final : public FrameEvents {
 public:
  explicit KeeperLoop(const KeeperArguments& arguments);

  // Takes the hello of the first host, which it is attached to, and loads the provider. False when there
  // is no provider to serve; the host was told why.
  bool load(os::Fd first, int library, Instant deadline);

  void add(os::Fd socket);
  std::vector<pollfd> descriptors();
  pollfd wake_descriptor() const { return {wake_.get(), POLLIN, 0}; }
  // Takes what the hosts sent.
  void read_all();
  // Goes on with what became possible meanwhile: waiting operations, clean-up, answers.
  void proceed();

  // Serves nobody new from now on.
  void retire(std::string_view why);
  bool retiring() const { return !retired_because_.empty(); }
  bool in_use() const;  // a host is attached, or what one left is being cleaned up
  Instant last_used() const { return last_used_; }
  // Nobody is connected and nothing runs, but for what does not end.
  bool empty();
  // An operation of a host that is gone has not ended in a long while.
  bool stuck(Instant when);

  void begin_shutdown(Instant deadline);
  bool is_shut_down() const { return shut_down_; }

 private:
  using ConnectionPointer = std::shared_ptr<KeeperConnection>;
  using Phase = KeeperConnection::Phase;
  enum class Opened { kNo, kOpening, kYes, kFailed };
  struct Waiting {
    OpId op;
    Request request;
  };
  struct OwnReply {
    OpId op;
    Slot slot;
    Reply reply;
  };

  OpId number_of(OpId op) const override;
  void send(OpId op, std::string_view first, std::string_view second) override;
  bool ending(OpId op, Slot slot, const Reply& reply) override;

  void wake();
  ConnectionPointer find(OpId op);
  std::vector<ConnectionPointer> all();
  void read(const ConnectionPointer& from);
  bool greet(const ConnectionPointer& from, const std::string& line);
  bool take(const ConnectionPointer& from, const Frame& frame);
  bool start(const ConnectionPointer& from, const Frame& frame);
  void start_open(const ConnectionPointer& from, OpId op, Request request);
  bool cancel_waiting(OpId op);
  void take_leave(const ConnectionPointer& of);
  void enqueue(OpId op, Request request);
  OpId start_own(Slot slot, Arguments arguments, Instant deadline);
  void destroy(const std::string& name);
  void take_own(const OwnReply& reply);
  void finish_open(const Reply& reply);
  void answer(const ConnectionPointer& to, std::string_view text);
  std::string describe(std::string_view made_ahead);

  const KeeperArguments arguments_;
  const os::Fd wake_;
  const WallTime started_at_;
  std::unique_ptr<TableDriver> driver_;
  std::string loaded_;  // the frame that ends loading
  std::size_t concurrency_ = 1;

  // Of the loop's thread alone.
  std::uint32_t last_number_ = 0;
  OpId last_own_ = 0;
  std::uint64_t served_ = 0;
  Instant last_used_;
  std::string retired_because_;
  bool shut_down_ = false;
  Opened opened_ = Opened::kNo;
  Reply open_reply_;
  std::vector<std::pair<ConnectionPointer, OpId>> waiting_for_open_;
  std::map<OpId, std::uint32_t> status_for_;  // the keeper's own probe, and who wants to know

  mutable std::mutex mutex_;
  std::map<std::uint32_t, ConnectionPointer> connections_;
  std::deque<Waiting> waiting_;
  std::size_t running_ = 0;
  std::vector<OwnReply> own_replies_;
  std::vector<std::string> orphans_;  // made for a host that had left before it was done
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_KEEPER_LOOP_H_
