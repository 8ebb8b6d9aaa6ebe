#include "core/plugin/keeper_loop.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>

#include "core/base/json.h"

namespace berth::plugin {
namespace {

// An operation's number here: its connection's, and the one its host gave it.
constexpr int kHostNumberBits = 40;
constexpr OpId kHostNumberMax = (OpId{1} << kHostNumberBits) - 1;
constexpr std::size_t kConnectionsMax = 1024;
constexpr std::size_t kOperationsWaitingMax = 16384;
// As the host's own patience with clean-up; what is not done by then is reconciled by name.
constexpr Duration kDestroyPatience = std::chrono::seconds(30);
constexpr Duration kProbePatience = std::chrono::seconds(10);
constexpr Duration kStuckAfter = std::chrono::seconds(60);
// The item of a probe that says what is made ahead, where a provider has one.
constexpr std::string_view kStartupItem = "startup";

OpId global(const KeeperConnection& of, OpId host_number) {
  return OpId{of.number()} << kHostNumberBits | host_number;
}

std::string named_by(const Request& request) {
  if (request.slot != Slot::kCreate && request.slot != Slot::kDestroy) return {};
  return std::string(subject_of(request));
}

}  // namespace

KeeperLoop::KeeperLoop(const KeeperArguments& arguments)
    : arguments_(arguments),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      started_at_(wall_now()),
      last_used_(now()) {}

OpId KeeperLoop::number_of(OpId op) const { return op & kHostNumberMax; }

void KeeperLoop::send(OpId op, std::string_view first, std::string_view second) {
  ConnectionPointer to;
  {
    const std::lock_guard lock(mutex_);
    // What belongs to no operation is told to the host that has been here longest.
    for (const auto& [number, connection] : connections_) {
      const bool wanted = op == 0 || number == op >> kHostNumberBits;
      if (wanted && connection->phase == Phase::kAttached) {
        to = connection;
        break;
      }
    }
  }
  if (to) to->send(first, second);
}

bool KeeperLoop::ending(OpId op, Slot slot, const Reply& reply) {
  const std::lock_guard lock(mutex_);
  --running_;
  const auto number = static_cast<std::uint32_t>(op >> kHostNumberBits);
  if (number == 0 || slot == Slot::kOpen) own_replies_.push_back({op, slot, reply});
  const auto found = connections_.find(number);
  if (found == connections_.end()) {
    wake();
    return false;
  }
  KeeperConnection& connection = *found->second;
  connection.open.erase(op);
  if (auto named = connection.names.extract(op); !named.empty() && reply.outcome.done()) {
    if (slot == Slot::kDestroy) connection.made.erase(named.mapped());
    else if (connection.phase == Phase::kGone) orphans_.push_back(std::move(named.mapped()));
    else connection.made.insert(std::move(named.mapped()));
  }
  const bool attached = connection.phase == Phase::kAttached;
  if (!attached || slot == Slot::kOpen || !waiting_.empty() || connections_.size() > 1) wake();
  return attached;
}

void KeeperLoop::wake() {
  const std::uint64_t one = 1;
  // Full means that it is awake already.
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
}

bool KeeperLoop::load(os::Fd first, int library, Instant deadline) {
  auto connection = std::make_shared<KeeperConnection>(++last_number_, std::move(first), Phase::kAttached);
  std::optional<Frame> frame;
  while (!frame) {
    pollfd watched{connection->socket(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now()).count();
    bool broken = false;
    if (left <= 0 || ::poll(&watched, 1, static_cast<int>(left)) <= 0 || !connection->receive()) return false;
    frame = connection->take_frame(&broken);
    if (broken) return false;
  }
  if (frame->type != FrameType::kHello) return false;
  registry::Findings findings;
  const auto hello = decode_hello(frame->payload);
  if (!hello) {
    findings.push_back({registry::Severity::kRefusal, "NEG-005", "", hello.error().message(),
                        "install host and worker from the same build"});
    connection->send(encode_findings(FrameType::kRefused, findings));
    return false;
  }
  concurrency_ = std::max<std::size_t>(hello->concurrency, 1);
  driver_ = make_driver(*this, *hello);
  const auto on_step = [&](std::string_view step) {
    WireWriter out(FrameType::kStep, 0);
    out.text(step);
    connection->send(out.take());
  };
  const bool bound = bind_library(library, *driver_, *hello, on_step, findings);
  loaded_ = encode_findings(bound ? FrameType::kLoaded : FrameType::kRefused, findings);
  connection->send(loaded_);
  if (!bound) return false;
  ++served_;
  const std::lock_guard lock(mutex_);
  connections_.emplace(connection->number(), std::move(connection));
  return true;
}

void KeeperLoop::add(os::Fd socket) {
  const std::lock_guard lock(mutex_);
  if (connections_.size() >= kConnectionsMax) return;
  const std::uint32_t number = ++last_number_;
  connections_.emplace(number, std::make_shared<KeeperConnection>(number, std::move(socket), Phase::kGreeting));
}

std::vector<KeeperLoop::ConnectionPointer> KeeperLoop::all() {
  const std::lock_guard lock(mutex_);
  std::vector<ConnectionPointer> found;
  for (const auto& [number, connection] : connections_) found.push_back(connection);
  return found;
}

KeeperLoop::ConnectionPointer KeeperLoop::find(OpId op) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(static_cast<std::uint32_t>(op >> kHostNumberBits));
  return found == connections_.end() ? nullptr : found->second;
}

std::vector<pollfd> KeeperLoop::descriptors() {
  std::vector<pollfd> found{wake_descriptor()};
  for (const ConnectionPointer& connection : all())
    if (connection->phase != Phase::kGone) found.push_back({connection->socket(), POLLIN, 0});
  return found;
}

void KeeperLoop::read_all() {
  for (const ConnectionPointer& connection : all())
    if (connection->phase != Phase::kGone) read(connection);
}

void KeeperLoop::read(const ConnectionPointer& from) {
  const bool more = from->receive();
  bool broken = false;
  while (!broken && from->phase == Phase::kGreeting) {
    const auto line = from->take_greeting(&broken);
    if (!line) break;
    if (!broken && !greet(from, *line)) broken = true;
  }
  while (!broken && from->phase == Phase::kAttached) {
    const auto frame = from->take_frame(&broken);
    if (!frame) break;
    if (!take(from, *frame)) broken = true;
  }
  if ((!more || broken) && from->phase != Phase::kGone) take_leave(from);
}

// False: it is to be left.
bool KeeperLoop::greet(const ConnectionPointer& from, const std::string& line) {
  std::string_view wish = line;
  if (!wish.starts_with(kKeeperGreeting)) return false;
  wish.remove_prefix(kKeeperGreeting.size());
  if (wish.starts_with(kAskAttach)) {
    const bool same = wish.substr(kAskAttach.size()) == arguments_.identity;
    if (!same) retire("something else is wanted");
    if (retiring() || opened_ == Opened::kFailed) {
      from->send(std::string(kSaysChanged) + "\n");
      return false;
    }
    ++served_;
    from->phase = Phase::kAttached;
    from->send(std::string(kSaysAttached) + "\n", loaded_);
    return true;
  }
  if (wish == kAskStop) retire("it was told to");
  if (wish != kAskStop && wish != kAskStatus) return false;
  from->phase = Phase::kWaiting;
  if (wish == kAskStop || opened_ != Opened::kYes) {
    answer(from, describe(""));
    return true;
  }
  status_for_[start_own(Slot::kProbe, std::monostate(), now() + kProbePatience)] = from->number();
  return true;
}

void KeeperLoop::answer(const ConnectionPointer& to, std::string_view text) {
  to->send(text, "\n");
  take_leave(to);
}

std::string KeeperLoop::describe(std::string_view made_ahead) {
  std::size_t hosts = 0;
  for (const ConnectionPointer& connection : all()) hosts += connection->phase == Phase::kAttached ? 1 : 0;
  const auto seconds = [](Duration duration) {
    return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  };
  boost::json::object text;
  text["pid"] = ::getpid();
  text["provider"] = arguments_.provider;
  text["state_dir"] = arguments_.state_dir;
  text["started_at"] = to_rfc3339(started_at_);
  text["hosts"] = hosts;
  text["served"] = served_;
  text["idle_seconds"] = seconds(arguments_.idle);
  text["unused_seconds"] = hosts > 0 ? 0 : seconds(now() - last_used_);
  text["made_ahead"] = made_ahead;
  text["going_because"] = retired_because_;
  return to_json_text(boost::json::value(std::move(text)));
}

// What its host made ends with it, as it would with a worker of the host's own.
void KeeperLoop::take_leave(const ConnectionPointer& of) {
  std::vector<OpId> to_cancel;
  std::set<std::string> made;
  {
    const std::lock_guard lock(mutex_);
    of->phase = Phase::kGone;
    of->left_at = now();
    std::erase_if(waiting_, [&](const Waiting& one) {
      const bool its = one.op >> kHostNumberBits == of->number();
      if (its) of->open.erase(one.op);
      if (its) of->names.erase(one.op);
      return its;
    });
    for (const auto& [op, slot] : of->open) to_cancel.push_back(op);
    made = std::exchange(of->made, {});
  }
  of->close();
  std::erase_if(waiting_for_open_, [&](const auto& one) { return one.first == of; });
  for (const OpId op : to_cancel) driver_->cancel(op);
  for (const std::string& name : made) destroy(name);
}

bool KeeperLoop::take(const ConnectionPointer& from, const Frame& frame) {
  if (frame.type == FrameType::kStart) return start(from, frame);
  if (frame.op == 0 || frame.op > kHostNumberMax) return false;
  const OpId op = global(*from, frame.op);
  if (frame.type == FrameType::kCancel && cancel_waiting(op)) return true;
  return steer(*driver_, op, frame);
}

bool KeeperLoop::start(const ConnectionPointer& from, const Frame& frame) {
  auto request = decode_start(frame.payload);
  if (!request || frame.op == 0 || frame.op > kHostNumberMax) return false;
  const OpId op = global(*from, frame.op);
  const Slot slot = request->slot;
  if (slot == Slot::kOpen) {
    start_open(from, op, std::move(*request));
    return true;
  }
  // The provider stays for others; what this host leaves behind is looked after when it has gone.
  if (slot == Slot::kShutdown) {
    from->send(encode_reply(frame.op, slot, Reply{Outcome::make_done(), {}}));
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kOperationsWaitingMax || !from->open.emplace(op, slot).second) return false;
    if (std::string name = named_by(*request); !name.empty()) from->names.emplace(op, std::move(name));
  }
  begin(op, slot);
  enqueue(op, std::move(*request));
  return true;
}

// The provider is opened once, by the first who asks; all ask for the same, or were not attached.
void KeeperLoop::start_open(const ConnectionPointer& from, OpId op, Request request) {
  switch (opened_) {
    case Opened::kNo: {
      opened_ = Opened::kOpening;
      {
        const std::lock_guard lock(mutex_);
        from->open.emplace(op, Slot::kOpen);
      }
      begin(op, Slot::kOpen);
      enqueue(op, std::move(request));
      return;
    }
    case Opened::kOpening: waiting_for_open_.emplace_back(from, number_of(op)); return;
    case Opened::kYes:
    case Opened::kFailed: from->send(encode_reply(number_of(op), Slot::kOpen, open_reply_)); return;
  }
}

void KeeperLoop::finish_open(const Reply& reply) {
  opened_ = reply.outcome.done() ? Opened::kYes : Opened::kFailed;
  open_reply_ = reply;
  if (opened_ == Opened::kFailed) retire("the provider cannot be opened");
  for (const auto& [connection, number] : std::exchange(waiting_for_open_, {}))
    connection->send(encode_reply(number, Slot::kOpen, open_reply_));
}

bool KeeperLoop::cancel_waiting(OpId op) {
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& one) { return one.op == op; });
    if (found == waiting_.end()) return false;
    waiting_.erase(found);
    ++running_;  // its end takes it off again
  }
  completed(op, reply_of(OutcomeClass::kRejected, OutcomeCode::kCancelled, "cancelled before it began"));
  return true;
}

void KeeperLoop::enqueue(OpId op, Request request) {
  {
    const std::lock_guard lock(mutex_);
    if (running_ >= concurrency_) {
      waiting_.push_back({op, std::move(request)});
      return;
    }
    ++running_;
  }
  driver_->start(op, std::move(request));
}

OpId KeeperLoop::start_own(Slot slot, Arguments arguments, Instant deadline) {
  const OpId op = ++last_own_;
  Request request;
  request.slot = slot;
  request.deadline = deadline;
  request.arguments = std::move(arguments);
  begin(op, slot);
  enqueue(op, std::move(request));
  return op;
}

void KeeperLoop::destroy(const std::string& name) {
  start_own(Slot::kDestroy, DestroyCall{name, {}}, now() + kDestroyPatience);
}

void KeeperLoop::take_own(const OwnReply& own) {
  if (own.slot == Slot::kOpen) return finish_open(own.reply);
  if (own.slot == Slot::kShutdown) shut_down_ = true;
  const auto wanted = status_for_.find(own.op);
  if (wanted == status_for_.end()) return;
  const ConnectionPointer to = find(OpId{wanted->second} << kHostNumberBits);
  status_for_.erase(wanted);
  if (!to || to->phase != Phase::kWaiting) return;
  std::string made_ahead;
  if (const auto* report = std::get_if<ProbeReport>(&own.reply.value)) {
    for (const ProbeItem& item : report->items)
      if (item.name == kStartupItem) made_ahead = item.detail;
  }
  answer(to, describe(made_ahead));
}

void KeeperLoop::proceed() {
  std::uint64_t ignored = 0;
  static_cast<void>(::read(wake_.get(), &ignored, sizeof ignored));
  std::vector<OwnReply> replies;
  std::vector<std::string> orphans;
  {
    const std::lock_guard lock(mutex_);
    replies = std::exchange(own_replies_, {});
    orphans = std::exchange(orphans_, {});
    std::erase_if(connections_, [](const auto& one) {
      return one.second->phase == Phase::kGone && one.second->open.empty();
    });
  }
  for (const OwnReply& reply : replies) take_own(reply);
  for (const std::string& name : orphans) destroy(name);
  for (;;) {
    Waiting next{};
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty() || running_ >= concurrency_) break;
      next = std::move(waiting_.front());
      waiting_.pop_front();
      ++running_;
    }
    driver_->start(next.op, std::move(next.request));
  }
  if (in_use()) last_used_ = now();
}

void KeeperLoop::retire(std::string_view why) {
  if (retired_because_.empty()) retired_because_ = why;
}

bool KeeperLoop::in_use() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& one) {
    return one.second->phase == Phase::kAttached || one.second->phase == Phase::kGone;
  });
}

bool KeeperLoop::empty() {
  const bool hopeless = stuck(now());
  const std::lock_guard lock(mutex_);
  const bool left = std::none_of(connections_.begin(), connections_.end(), [](const auto& one) {
    return one.second->phase == Phase::kAttached;
  });
  return left && (hopeless || (running_ == 0 && waiting_.empty() && orphans_.empty()));
}

bool KeeperLoop::stuck(Instant when) {
  const std::lock_guard lock(mutex_);
  return std::any_of(connections_.begin(), connections_.end(), [&](const auto& one) {
    return one.second->phase == Phase::kGone && !one.second->open.empty() &&
           when - one.second->left_at > kStuckAfter;
  });
}

void KeeperLoop::begin_shutdown(Instant deadline) {
  if (opened_ != Opened::kYes || stuck(now())) {
    shut_down_ = true;
    return;
  }
  start_own(Slot::kShutdown, std::monostate(), deadline);
}

}  // namespace berth::plugin
