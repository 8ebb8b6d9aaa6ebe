#include "core/conformance/process_state.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace berth::conformance {
namespace {

std::string link_text(const std::filesystem::path& path) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(path, error);
  return error ? "?" : target.string();
}

std::string mask_text() {
  sigset_t mask;
  sigemptyset(&mask);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::string text;
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&mask, signal) == 1) text += fmt::format(" {}", signal);
  return text.empty() ? "empty" : text.substr(1);
}

std::string action_text(int signal) {
  struct sigaction action {};
  if (::sigaction(signal, nullptr, &action) != 0) return "none";
  if (action.sa_handler == SIG_DFL) return "the default";
  if (action.sa_handler == SIG_IGN) return "ignored";
  return fmt::format("the function at {}", reinterpret_cast<void*>(action.sa_handler));
}

template <class Number>
std::set<Number> numbers_in(const std::filesystem::path& folder) {
  std::set<Number> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    out.insert(static_cast<Number>(std::strtol(entry.path().filename().c_str(), nullptr, 10)));
  return out;
}

}  // namespace

ProcessState process_state() {
  ProcessState state;
  state["the working directory"] = link_text("/proc/self/cwd");
  state["the root directory"] = link_text("/proc/self/root");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  state["the umask"] = fmt::format("{:03o}", mask);
  state["the locale"] = std::setlocale(LC_ALL, nullptr);
  state["the signal mask"] = mask_text();
  for (int signal = 1; signal < NSIG; ++signal)
    state[fmt::format("the action of signal {}", signal)] = action_text(signal);
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text(*variable);
    // Never the value: it may be a secret.
    state["the variable " + text.substr(0, text.find('='))] =
        fmt::format("set to {} bytes with hash {:x}", text.size(), std::hash<std::string>{}(text));
  }
  for (const auto& [name, resource] :
       {std::pair{"descriptors", RLIMIT_NOFILE}, {"core files", RLIMIT_CORE},
        {"the stack", RLIMIT_STACK}, {"file size", RLIMIT_FSIZE}}) {
    rlimit limit{};
    ::getrlimit(resource, &limit);
    state[fmt::format("the limit of {}", name)] = fmt::format("{}", limit.rlim_cur);
  }
  return state;
}

std::string difference(const ProcessState& before, const ProcessState& after) {
  std::string text;
  const auto say = [&text](const std::string& name, const std::string& was, const std::string& is) {
    text += fmt::format("{}{} was {} and is {}", text.empty() ? "" : "; ", name, was, is);
  };
  for (const auto& [name, value] : before) {
    const auto found = after.find(name);
    if (found == after.end()) say(name, value, "not there");
    else if (found->second != value) say(name, value, found->second);
  }
  for (const auto& [name, value] : after)
    if (!before.contains(name)) say(name, "not there", value);
  return text;
}

std::map<int, std::string> open_descriptors() {
  std::map<int, std::string> out;
  for (const int fd : numbers_in<int>("/proc/self/fd")) {
    const std::string target = link_text(fmt::format("/proc/self/fd/{}", fd));
    if (target != "?") out[fd] = target;
  }
  return out;
}

std::set<int> threads() { return numbers_in<int>("/proc/self/task"); }

std::set<int> children() {
  std::set<int> out;
  for (const int thread : threads()) {
    std::ifstream list(fmt::format("/proc/self/task/{}/children", thread));
    for (int child = 0; list >> child;) out.insert(child);
  }
  return out;
}

std::multiset<std::string> mounts() {
  std::multiset<std::string> out;
  std::ifstream list("/proc/self/mountinfo");
  for (std::string line; std::getline(list, line);) {
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5; ++i) fields >> field;
    out.insert(field);
  }
  return out;
}

}  // namespace berth::conformance
