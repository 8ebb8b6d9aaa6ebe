#include "process_handle.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace berth::local {
namespace {

// True when this is still the process of the record and not one that got its number later.
bool same_process(const ProcessName& process) {
  const auto text = read_small_file("/proc/" + std::to_string(process.pid) + "/stat", 4096);
  if (!text) return false;
  std::size_t at = text->rfind(')');
  for (int field = 2; at != std::string::npos && field < 22; ++field) at = text->find(' ', at + 1);
  return at != std::string::npos && std::strtoull(text->c_str() + at, nullptr, 10) == process.start_time;
}

}  // namespace

Fd open_process(const ProcessName& process) {
  Fd fd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  // Asked after the descriptor exists, so that the number cannot change hands in between.
  if (fd.valid() && !same_process(process)) fd.reset();
  return fd;
}

bool wait_ended(const Fd& process, std::chrono::steady_clock::time_point until) {
  pollfd watched{process.get(), POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
  int ready = 0;
  do {
    ready = poll(&watched, 1, static_cast<int>(std::max<std::chrono::milliseconds::rep>(0, left)));
  } while (ready < 0 && errno == EINTR);
  return ready == 1;
}

void kill_process(const Fd& process) {
  syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
}

}  // namespace berth::local
