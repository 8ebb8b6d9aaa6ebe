#include "helper/init.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "helper/channel.h"
#include "helper/command_child.h"
#include "helper/file_move.h"
#include "helper/sandbox_setup.h"

namespace berth::local {
namespace {

std::uint64_t nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_usec) * 1'000u;
}

// User and system time of every process the init has reaped, at any depth.
std::uint64_t reaped_cpu_ns() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

// Of the one file system that everything writable is on.
std::uint64_t disk_free_bytes() {
  struct statfs info{};
  if (statfs("/tmp", &info) != 0) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(info.f_bfree) * static_cast<std::uint64_t>(info.f_bsize);
}

bool set_timer(std::uint64_t lifetime_ns) {
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(lifetime_ns / 1'000'000'000u);
  when.it_value.tv_nsec = static_cast<long>(lifetime_ns % 1'000'000'000u);
  return timerfd_settime(kInitTimer, 0, &when, nullptr) == 0;
}

class Init {
 public:
  Init(int signals, std::uint32_t skipped_layers, pid_t interpreter)
      : signals_(signals), skipped_layers_(skipped_layers), interpreter_(interpreter) {}

  [[noreturn]] void serve() {
    pollfd watched[4] = {
        {kInitSocket, POLLIN, 0}, {signals_, POLLIN, 0}, {kInitTimer, POLLIN, 0}, {-1, 0, 0}};
    while (true) {
      watched[0].events = static_cast<short>(POLLIN | (unsent_ ? POLLOUT : 0));
      watched[3].fd = moving_ ? move_.pipe() : -1;
      watched[3].events = move_.events();
      if (poll(watched, 4, -1) < 0) {
        if (errno == EINTR) continue;
        _exit(1);
      }
      if (watched[2].revents != 0) _exit(0);  // the lifetime is over
      if (watched[1].revents != 0) reap();
      if (moving_ && watched[3].revents != 0 && !move_.step()) end_move();
      if (watched[0].revents == 0) continue;
      if ((watched[0].revents & POLLIN) != 0) {
        take_request();
      } else if ((watched[0].revents & (POLLHUP | POLLERR)) != 0) {
        if (!detached_) _exit(0);  // the provider is dead
        watched[0].fd = -1;
      }
      if (unsent_) send_ended();
    }
  }

 private:
  void take_request() {
    static Received message;
    switch (receive_message(kInitSocket, &message, MSG_DONTWAIT)) {
      case ReceiveResult::kAgain: return;
      case ReceiveResult::kEnd:
        if (!detached_) _exit(0);
        return;
      case ReceiveResult::kMessage: break;
    }
    if (message.as<Detach>(Kind::kDetach) != nullptr) {
      detached_ = true;
    } else if (const Lifetime* lifetime = message.as<Lifetime>(Kind::kLifetime)) {
      if (!set_timer(lifetime->lifetime_ns)) _exit(1);
    } else if (message.as<Kill>(Kind::kKill) != nullptr) {
      if (active_ && message.header().id == ended_.header.id) stop_operation();
    } else if (active_ || unsent_) {
      refuse(message.header().id);
    } else {
      start(message);
    }
    close_received(&message);
  }

  void refuse(std::uint64_t id) {
    Ended busy{};
    busy.header = Header{Kind::kEnded, 0, id};
    busy.step = Step::kBusy;
    busy.error = EBUSY;
    send_message(kInitSocket, busy, MSG_DONTWAIT);
  }

  void start(const Received& message) {
    const Run* run = message.as<Run>(Kind::kRun);
    const PutRequest* put = message.as<PutRequest>(Kind::kPutFile);
    const GetRequest* get = message.as<GetRequest>(Kind::kGetFile);
    const bool runs_template = run != nullptr && (run->flags & kRunTemplate) != 0;
    const std::size_t wanted = runs_template                         ? 5
                               : run != nullptr                      ? 4
                               : (put != nullptr || get != nullptr) ? 1
                                                                     : 0;
    if (wanted == 0 || message.fd_count != wanted) _exit(1);  // the two sides do not fit

    ended_ = Ended{};
    ended_.header = Header{Kind::kEnded, 0, message.header().id};
    cpu_before_ns_ = reaped_cpu_ns();
    if (run != nullptr) return start_command(*run, message.fds);
    const int pipe = message.fds[0];
    active_ = moving_ = true;
    if (put != nullptr ? !move_.begin_put(*put, pipe) : !move_.begin_get(*get, pipe)) end_move();
  }

  void start_command(const Run& run, const int* fds) {
    is_template_ = (run.flags & kRunTemplate) != 0;
    int report[2];
    if (pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0) return fail_start(errno);
    pid_t child = -1;
    if (interpreter_ > 0) child = hand_over(run, fds, report[1]);
    if (child < 0) child = fork();
    if (child == 0) run_command(run, fds, report[1]);
    const int error = errno;
    close(report[1]);
    if (child < 0) {
      close(report[0]);
      return fail_start(error);
    }
    active_ = true;
    main_ended_ = false;
    main_ = child;
    report_ = report[0];
  }

  void stop_operation() {
    if (!moving_) {
      kill(-1, SIGKILL);
      return;
    }
    move_.abort(EINTR);
    end_move();
  }

  void end_move() {
    const ChildReport& report = move_.report();
    ended_.step = report.step;
    ended_.error = report.error;
    ended_.mode = report.mode;
    ended_.size_bytes = report.size_bytes;
    moving_ = false;
    finish();
  }

  [[noreturn]] void run_command(const Run& request, const int* fds, int report) {
    const PreparedCommand command = prepare_command(request, skipped_layers_, fds, report);
    // The report pipe and all else above the streams are of a higher number and go at the exec.
    if ((request.flags & kRunTemplate) != 0) take_places(request, fds[4], report);
    execute_command(command, report);
  }

  static void take_places(const Run& request, int control, int report) {
    const int last = (request.flags & kRunTakesPlaces) != 0 ? kInitInterpreter : kTemplateControl;
    for (int place = kTemplateControl; place <= last; ++place) {
      if (dup2(control, place) < 0) give_up(report, Step::kDescriptors, errno);
    }
  }

  // Gives a command to the interpreter that waits, or ends it: what runs beside a program of somebody
  // else is that program's. The interpreter, or -1.
  pid_t hand_over(const Run& request, const int* fds, int report) {
    const pid_t interpreter = interpreter_;
    const int all[] = {fds[0], fds[1], fds[2], fds[3], report};
    const bool taken =
        (request.flags & kRunInterpreter) != 0 &&
        send_message(kInitInterpreter, &request, sizeof(request), all, 5, MSG_DONTWAIT) == 0;
    forget_interpreter();
    if (taken) {
      ended_.by_fork = 1;
      return interpreter;
    }
    kill(interpreter, SIGKILL);
    return -1;
  }

  void forget_interpreter() {
    interpreter_ = -1;
    close(kInitInterpreter);
  }

  void fail_start(int error) {
    ended_.step = Step::kFork;
    ended_.error = error;
    send_ended();
  }

  void reap() {
    signalfd_siginfo ignored;
    while (read(signals_, &ignored, sizeof(ignored)) > 0) {
    }
    int status = 0;
    rusage usage{};
    pid_t ended = 0;
    while ((ended = wait4(-1, &status, WNOHANG, &usage)) > 0) {
      if (ended == interpreter_) forget_interpreter();
      if (active_ && !moving_ && !main_ended_ && ended == main_) end_main(status, usage);
    }
    const bool alone = ended < 0 && errno == ECHILD;
    // The end of a command is the end of all it left behind: nobody but the init is alive now.
    if (active_ && !moving_ && main_ended_ && (alone || is_template_)) finish();
    // The sandboxes of a template live on without it, and its process namespace as long as they do.
    if (is_template_ && main_ended_ && alone && !unsent_) _exit(0);
  }

  void end_main(int status, const rusage& usage) {
    main_ended_ = true;
    ended_.status = status;
    ended_.memory_peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024u;
    ChildReport text{};
    if (read(report_, &text, sizeof(text)) == static_cast<ssize_t>(sizeof(text))) {
      ended_.step = text.step;
      ended_.error = text.error;
    }
    close(report_);
    ended_.disk_free_bytes = disk_free_bytes();
    // One call that no fork can outrun: the kernel holds its list of processes meanwhile.
    if (!is_template_) kill(-1, SIGKILL);
  }

  void finish() {
    active_ = false;
    ended_.cpu_ns = reaped_cpu_ns() - cpu_before_ns_;
    send_ended();
  }

  void send_ended() {
    const int error = send_message(kInitSocket, ended_, MSG_DONTWAIT);
    if (error != 0 && error != EAGAIN && !detached_) _exit(1);
    unsent_ = error == EAGAIN;
  }

  const int signals_;
  const std::uint32_t skipped_layers_;
  pid_t interpreter_;  // that waits for a command; not above 0: none
  bool active_ = false;
  bool main_ended_ = false;
  bool is_template_ = false;
  bool moving_ = false;  // the operation under way is a file's
  bool unsent_ = false;
  bool detached_ = false;
  pid_t main_ = -1;
  int report_ = -1;
  std::uint64_t cpu_before_ns_ = 0;
  Ended ended_{};
  FileMove move_;
};

int make_signals() {
  sigset_t watched;
  sigfillset(&watched);
  sigprocmask(SIG_SETMASK, &watched, nullptr);
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  return signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool make_timer(std::uint64_t lifetime_ns) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (timer < 0) return false;
  if (timer != kInitTimer && dup3(timer, kInitTimer, O_CLOEXEC) < 0) return false;
  if (timer != kInitTimer) close(timer);
  return set_timer(lifetime_ns);
}

// The streams the launcher started with lead to the host's devices.
bool own_streams() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return false;
  for (int fd = 0; fd < 3; ++fd) {
    if (dup3(null, fd, O_CLOEXEC) < 0) return false;
  }
  return null < 3 || close(null) == 0;
}

}  // namespace

SetupResult prepare_init(const Create& request) {
  prctl(PR_SET_NAME, kInitName, 0, 0, 0);
  const bool timed = make_timer(request.lifetime_ns);
  const int timer_error = errno;
  SetupResult result = set_up_sandbox(request);
  if (result.failure.error != 0) return result;
  if (!timed) {
    result.failure = make_failure(Layer::kDescriptors, timer_error, "making the timer");
  } else if (!own_streams()) {
    result.failure = make_failure(Layer::kDescriptors, errno, "preparing the init");
  }
  return result;
}

bool send_ready(const Create& request, const SetupResult& result) {
  Ready ready{};
  ready.header = Header{Kind::kReady, 0, request.header.id};
  ready.layers = result.layers;
  ready.landlock_abi = result.landlock_abi;
  ready.failure = result.failure;
  return send_message(kInitSocket, ready) == 0 && result.failure.error == 0;
}

void run_init(const Create& request) {
  const SetupResult result = prepare_init(request);
  // After everything else has its place.
  const int signals = make_signals();
  if (signals < 0 || !send_ready(request, result)) _exit(1);
  Init(signals, request.skipped_layers, -1).serve();
}

void resume_init(pid_t interpreter, std::uint32_t skipped_layers) {
  // A new program can be traced and read until it says otherwise; nobody runs beside it yet.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) _exit(1);
  prctl(PR_SET_NAME, kInitName, 0, 0, 0);
  for (int fd = kInitSocket; fd <= kInitInterpreter; ++fd) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  syscall(SYS_close_range, static_cast<unsigned>(kInitInterpreter + 1), ~0u, 0u);
  const int signals = make_signals();
  if (signals < 0) _exit(1);
  Init(signals, skipped_layers, interpreter).serve();
}

}  // namespace berth::local
