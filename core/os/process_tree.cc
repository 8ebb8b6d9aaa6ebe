#include "core/os/process_tree.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace berth::os {
namespace {

constexpr int kPauseMs = 5;
constexpr int kRounds = 200;
constexpr std::size_t kNamesMax = 16;

void reap_ended() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

bool adopt_orphans() { return ::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0; }

std::vector<int> children() {
  std::vector<int> out;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream list(task.path() / "children");
    for (int child = 0; list >> child;) out.push_back(child);
  }
  return out;
}

std::string command_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  return name;
}

bool await_children(int ms) {
  for (int waited = 0; waited <= ms; waited += kPauseMs) {
    reap_ended();
    if (children().empty()) return true;
    ::usleep(kPauseMs * 1000);
  }
  return false;
}

std::vector<std::string> end_children() {
  std::vector<std::string> names;
  for (int round = 0; round < kRounds; ++round) {
    reap_ended();
    const std::vector<int> left = children();
    if (left.empty()) return names;
    for (const int pid : left) {
      if (round == 0 && names.size() < kNamesMax) names.push_back(command_of(pid));
      kill_child(pid);
    }
    ::usleep(kPauseMs * 1000);
  }
  return names;
}

void kill_child(int pid) {
  if (pid > 0) ::kill(pid, SIGKILL);
}

}  // namespace berth::os
