#include "exchange.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sandbox.h"

namespace berth::local {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCpuLook{25};
// A signal from the init takes microseconds; after this the whole sandbox is ended instead.
constexpr milliseconds kKillGrace{2000};
// When a command has ended so has every holder of its pipes, and their end follows at once.
constexpr milliseconds kStreamGrace{2000};
constexpr milliseconds kLongestWait{1000};
constexpr std::size_t kPieceBytes = BERTH_OUTPUT_CHUNK_MAX_BYTES;

void make_nonblocking(const Fd& fd) {
  const int flags = fcntl(fd.get(), F_GETFL);
  fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK);
}

// write(2) into a pipe whose reader may be gone, without the signal that would end the host.
ssize_t write_quietly(int fd, const char* bytes, std::size_t size) {
  sigset_t pipe_signal;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t written = write(fd, bytes, size);
  const int error = errno;
  if (written < 0 && error == EPIPE && !was_pending) {
    const timespec now{};
    while (sigtimedwait(&pipe_signal, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

Failure no_descriptors() {
  return Failure::rejected(Code::kUnavailable,
                           "no descriptor is left for the streams of a command: " + error_text(errno));
}

}  // namespace

Exchange::Exchange(Sandbox& sandbox, Peer& peer, ExchangeBounds bounds)
    : sandbox_(sandbox),
      peer_(peer),
      bounds_(bounds),
      id_(sandbox.next_id_.fetch_add(1)) {
  if (bounds_.cpu_ns) {
    cpu_before_ns_ = sandbox_.cgroup().counters().cpu_ns.value_or(0);
    next_cpu_look_ = Clock::now() + kCpuLook;
  }
}

Fd Exchange::add_output(Stream stream) {
  Pipe made = make_pipe();
  if (!made.read.valid()) throw no_descriptors();
  make_nonblocking(made.read);
  Output& output = outputs_[output_count_++];
  output.stream = stream;
  output.fd = std::move(made.read);
  return std::move(made.write);
}

Fd Exchange::add_input(bool from_host) {
  Pipe made = make_pipe();
  if (!made.read.valid()) throw no_descriptors();
  if (from_host) {
    make_nonblocking(made.write);
    input_ = std::move(made.write);
    input_ended_ = false;
  }
  return std::move(made.read);
}

// What is there already is in the pipe when its reader is told of it, which then has nothing to wait for.
// All but plain data is left to step().
void Exchange::offer_input() {
  while (!input_ended_ && pending_input_.empty()) {
    pending_input_.resize(kPieceBytes);
    std::size_t got = 0;
    const auto status = peer_.input(pending_input_, &got);
    pending_input_.resize(status == BERTH_INPUT_DATA ? std::min(got, kPieceBytes) : 0);
    input_bytes_ += pending_input_.size();
    if (status == BERTH_INPUT_END) {
      input_ended_ = true;
      input_.reset();
    }
    if (pending_input_.empty()) return;
    write_input();
  }
}

void Exchange::send(const void* request, std::size_t size, std::vector<Fd> fds) {
  std::vector<int> raw;
  for (const Fd& fd : fds) raw.push_back(fd.get());
  const int error =
      send_message(sandbox_.parts_.socket.get(), request, size, raw.data(), raw.size(), MSG_DONTWAIT);
  if (error != 0) {
    throw Failure::rejected(Code::kNotFound, "the sandbox " + sandbox_.name() + " has ended (" +
                                                 error_text(error) + "); destroy it");
  }
}

bool Exchange::finished() const {
  if (!answered_) return false;
  return std::all_of(outputs_.begin(), outputs_.end(),
                     [](const Output& output) { return !output.fd.valid(); });
}

int Exchange::wait_milliseconds() const {
  Clock::time_point until = Clock::now() + kLongestWait;
  for (const auto& at : {force_at_, streams_until_, next_cpu_look_}) {
    if (at) until = std::min(until, *at);
  }
  if (bounds_.wall_deadline && reason_ == KillReason::kNone) {
    until = std::min(until, *bounds_.wall_deadline);
  }
  // Without a descriptor to wait on, cancellation is looked for.
  if (peer_.cancel_fd() < 0) until = std::min(until, Clock::now() + milliseconds(50));
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  return static_cast<int>(std::max<milliseconds::rep>(0, left.count()));
}

void Exchange::step() {
  if (!input_ended_ && pending_input_.empty() && !input_waits_) fetch_input();
  pollfd watched[7];
  nfds_t count = 0;
  const auto watch = [&](int fd, short events) {
    watched[count] = pollfd{fd, events, 0};
    return count++;
  };
  const nfds_t socket = watch(answered_ ? -1 : sandbox_.parts_.socket.get(), POLLIN);
  const bool uncancelled = reason_ != KillReason::kCancelled;
  const nfds_t cancel = watch(uncancelled ? peer_.cancel_fd() : -1, POLLIN);
  const nfds_t ready = watch(paused_ || input_waits_ ? peer_.ready_fd() : -1, POLLIN);
  const nfds_t input = watch(pending_input_.empty() ? -1 : input_.get(), POLLOUT);
  // Process 1 itself, in case something else keeps its socket open.
  const nfds_t process = watch(answered_ ? -1 : sandbox_.parts_.pidfd.get(), POLLIN);
  const nfds_t first = count;
  for (const Output& output : outputs_) watch(paused_ ? -1 : output.fd.get(), POLLIN);

  if (poll(watched, count, wait_milliseconds()) < 0 && errno != EINTR) {
    sandbox_.kill_init();
    lose();
  }
  if (watched[ready].revents != 0) {
    paused_ = input_waits_ = false;
    if (streams_until_) streams_until_ = Clock::now() + kStreamGrace;
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (watched[first + i].revents != 0) read_output(&outputs_[i]);
  }
  if (watched[socket].revents != 0) {
    take_messages();
  } else if (watched[process].revents != 0) {
    lose();
  }
  if (watched[input].revents != 0) write_input();
  if (uncancelled && (watched[cancel].revents != 0 || peer_.cancelled())) {
    end_command(KillReason::kCancelled);
  }
  check_bounds();
}

void Exchange::take_messages() {
  Received message;
  switch (receive_message(sandbox_.parts_.socket.get(), &message, MSG_DONTWAIT)) {
    case ReceiveResult::kAgain: return;
    case ReceiveResult::kMessage: return accept_ended(message);
    case ReceiveResult::kEnd: return lose();
  }
}

void Exchange::lose() {
  lost_ = answered_ = true;
  settle();
}

// Whatever was said is said; only what the pipes still hold is to come.
void Exchange::settle() {
  force_at_.reset();
  streams_until_ = Clock::now() + kStreamGrace;
  input_.reset();
  pending_input_.clear();
  input_ended_ = true;
  input_waits_ = false;
}

void Exchange::accept_ended(const Received& message) {
  Received copy = message;
  close_received(&copy);
  const Ended* ended = message.as<Ended>(Kind::kEnded);
  if (ended == nullptr || ended->header.id != id_) {
    // The init says what it cannot say: it is not ours any more.
    sandbox_.kill_init();
    return lose();
  }
  ended_ = *ended;
  answered_ = true;
  settle();
}

void Exchange::read_output(Output* output) {
  static thread_local std::vector<char> piece(kPieceBytes);
  const ssize_t got = read(output->fd.get(), piece.data(), piece.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    output->fd.reset();
    return;
  }
  output->bytes += static_cast<std::uint64_t>(got);
  // Nobody writes any more, so what is left is at most what a pipe holds.
  if (streams_until_) streams_until_ = Clock::now() + kStreamGrace;
  deliver(output, piece.data(), static_cast<std::size_t>(got));
  std::uint64_t all = 0;
  for (const Output& each : outputs_) all += each.bytes;
  if (bounds_.output_bytes != 0 && all > bounds_.output_bytes) end_command(KillReason::kOutput);
}

void Exchange::deliver(Output* output, const char* bytes, std::size_t size) {
  if (output->limited || discarding_) return;
  switch (peer_.output(output->stream, {bytes, size})) {
    case BERTH_OUTPUT_ACCEPTED: return;
    case BERTH_OUTPUT_PAUSE: paused_ = !peer_.resumed(); return;
    case BERTH_OUTPUT_LIMIT: output->limited = true; return;
    default: end_command(KillReason::kCancelled); return;
  }
}

void Exchange::fetch_input() {
  pending_input_.resize(kPieceBytes);
  std::size_t got = 0;
  const auto status = peer_.input(pending_input_, &got);
  pending_input_.resize(status == BERTH_INPUT_DATA ? std::min(got, kPieceBytes) : 0);
  input_bytes_ += pending_input_.size();
  if (status == BERTH_INPUT_DATA) return;
  if (status == BERTH_INPUT_AGAIN) {
    input_waits_ = true;
    return;
  }
  input_ended_ = true;
  input_.reset();
  if (status != BERTH_INPUT_END) end_command(KillReason::kCancelled);
}

void Exchange::write_input() {
  const ssize_t written = write_quietly(input_.get(), pending_input_.data(), pending_input_.size());
  if (written >= 0) {
    pending_input_.erase(0, static_cast<std::size_t>(written));
  } else if (errno != EAGAIN && errno != EINTR) {  // the program does not read any more
    pending_input_.clear();
    input_ended_ = true;
    input_.reset();
  }
}

void Exchange::check_bounds() {
  const Clock::time_point now = Clock::now();
  if (streams_until_ && now >= *streams_until_ && !paused_) {
    for (Output& output : outputs_) output.fd.reset();
  }
  if (answered_) return;
  if (bounds_.wall_deadline && now >= *bounds_.wall_deadline) end_command(KillReason::kWall);
  if (next_cpu_look_ && now >= *next_cpu_look_) {
    next_cpu_look_ = now + kCpuLook;
    const std::uint64_t used = sandbox_.cgroup().counters().cpu_ns.value_or(0);
    if (used > cpu_before_ns_ + *bounds_.cpu_ns) end_command(KillReason::kCpu);
  }
  if (force_at_ && now >= *force_at_) {
    force_at_.reset();
    sandbox_.kill_init();
  }
}

void Exchange::end_command(KillReason reason) {
  if (reason == KillReason::kCancelled) {
    discarding_ = true;
    paused_ = false;
  }
  if (reason_ != KillReason::kNone) {
    if (reason == KillReason::kCancelled) reason_ = reason;
    return;
  }
  reason_ = reason;
  next_cpu_look_.reset();
  if (answered_) return;
  Kill kill{};
  kill.header = Header{Kind::kKill, 0, id_};
  send_message(sandbox_.parts_.socket.get(), kill, MSG_DONTWAIT);
  force_at_ = Clock::now() + kKillGrace;
}

std::uint64_t Exchange::bytes_of(Stream stream) const {
  for (std::size_t i = 0; i < output_count_; ++i) {
    if (outputs_[i].stream == stream) return outputs_[i].bytes;
  }
  return 0;
}

}  // namespace berth::local
