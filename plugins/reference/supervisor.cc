#include "plugins/reference/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace berth::reference {
namespace {

// The descriptors of a supervisor after it has closed all others.
constexpr int kControl = 3;
constexpr int kReport = 4;
constexpr int kAlive = 5;
constexpr int kStop = 6;
constexpr int kExecFailed = 7;  // in the program's process until exec, which closes it
constexpr int kAside = 100;

struct Prepared {
  std::vector<char*> argv;
  std::vector<char*> envp;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

void limit(int resource, std::uint64_t value) {
  if (value == 0) return;
  const rlimit both{value, value};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

// Everything below is between fork and exec or exit: system calls only.
void keep_only(const SupervisorPlan& plan) {
  const int wanted[][2] = {{plan.in, 0},          {plan.out, 1},     {plan.err, 2},
                           {plan.control, kControl}, {plan.report, kReport}, {plan.alive, kAlive},
                           {plan.stop, kStop}};
  for (int i = 0; i < 7; ++i) ::dup2(wanted[i][0], kAside + i);
  for (int i = 0; i < 7; ++i) ::dup2(kAside + i, wanted[i][1]);
  ::syscall(SYS_close_range, kExecFailed, ~0u, 0);
  for (int fd = kControl; fd <= kStop; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

[[noreturn]] void become_program(const SupervisorPlan& plan, const Prepared& prepared, const sigset_t& none) {
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (plan.limits) {
    const auto ns = static_cast<std::uint64_t>(plan.limits->cpu_time.count());
    limit(RLIMIT_CPU, ns == 0 ? 0 : (ns + 999'999'999) / 1'000'000'000);
    limit(RLIMIT_FSIZE, plan.limits->file_size_bytes);
    limit(RLIMIT_NOFILE, plan.limits->open_files);
  }
  int why = 0;
  if (::chdir(plan.cwd.c_str()) != 0) why = errno;
  if (why == 0) {
    ::execve(plan.file.c_str(), prepared.argv.data(), prepared.envp.data());
    why = errno;
  }
  static_cast<void>(::write(kExecFailed, &why, sizeof why) == sizeof why);
  ::_exit(127);
}

// The ids in /proc/self/task/<this>/children; -1 when that cannot be read.
int children(pid_t* out, int max) {
  const int fd = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[4096];
  const ssize_t got = ::read(fd, text, sizeof text);
  ::close(fd);
  int count = 0;
  pid_t number = 0;
  for (ssize_t i = 0; i < got && count < max; ++i) {
    if (text[i] >= '0' && text[i] <= '9') number = number * 10 + (text[i] - '0');
    else if (number != 0) {
      out[count++] = number;
      number = 0;
    }
  }
  return count;
}

void end_everything() {
  pid_t left[256];
  for (int round = 0; round < 5000; ++round) {
    const int count = children(left, 256);
    for (int i = 0; i < count; ++i) ::kill(left[i], SIGKILL);
    int status = 0;
    pid_t reaped = 0;
    do reaped = ::waitpid(-1, &status, WNOHANG);
    while (reaped > 0);
    if (reaped < 0 && errno == ECHILD) return;
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

int ms_until(std::uint64_t unix_ms) {
  if (unix_ms == 0) return -1;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t left = static_cast<std::int64_t>(unix_ms) -
                            (static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000);
  return left <= 0 ? 0 : static_cast<int>(left > 86'400'000 ? 86'400'000 : left);
}

void take_usage(const rusage& used, SupervisorReport& report) {
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_usec) * 1000;
  };
  report.cpu_ns = ns(used.ru_utime) + ns(used.ru_stime);
  report.memory_peak_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
}

// Waits for the program's end or a reason to bring it about.
void watch(pid_t program, const SupervisorPlan& plan, int signals, SupervisorReport& report) {
  for (;;) {
    pollfd polled[3] = {{signals, POLLIN, 0}, {kControl, POLLIN, 0}, {kStop, POLLIN, 0}};
    const int ready = ::poll(polled, 3, ms_until(plan.expires_unix_ms));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || polled[1].revents != 0 || polled[2].revents != 0) return;
    signalfd_siginfo info{};
    while (::read(signals, &info, sizeof info) > 0) {
    }
    rusage used{};
    int status = 0;
    for (pid_t one; (one = ::wait4(-1, &status, WNOHANG, &used)) > 0;) {
      if (one != program) continue;
      report.status = status;
      take_usage(used, report);
      return;
    }
  }
}

[[noreturn]] void supervise(const SupervisorPlan& plan, const Prepared& prepared) {
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  keep_only(plan);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigset_t child;
  sigemptyset(&none);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &child, nullptr);
  SupervisorReport report;
  int failing[2] = {-1, -1};
  const int signals = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (::pipe2(failing, O_CLOEXEC) != 0) ::_exit(1);
  const pid_t program = ::fork();
  if (program == 0) {
    ::dup3(failing[1], kExecFailed, O_CLOEXEC);
    become_program(plan, prepared, none);
  }
  ::close(failing[1]);
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  int why = 0;
  if (program < 0) report.exec_errno = EAGAIN;
  else if (::read(failing[0], &why, sizeof why) == sizeof why) report.exec_errno = why;
  if (report.exec_errno == 0) watch(program, plan, signals, report);
  end_everything();
  static_cast<void>(::write(kReport, &report, sizeof report) == sizeof report);
  ::_exit(0);
}

}  // namespace

pid_t start_supervisor(const SupervisorPlan& plan) {
  const Prepared prepared{pointers(plan.argv), pointers(plan.environment)};
  const pid_t pid = ::fork();
  if (pid == 0) supervise(plan, prepared);
  return pid;
}

}  // namespace berth::reference
