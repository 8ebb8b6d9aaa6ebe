#include "core/execution/message.h"

#include <fmt/format.h>

#include <csignal>
#include <string_view>
#include <utility>

#include "core/execution/install/base_packages.h"
#include "core/execution/output.h"

namespace berth {
namespace {

std::string_view signal_name(int signal) {
  struct Named {
    int number;
    std::string_view name;
  };
  constexpr Named kNames[] = {
      {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
      {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
      {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
      {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
      {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
  for (const auto& [number, name] : kNames) {
    if (number == signal) return name;
  }
  return {};
}

std::string_view without_line_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::string seconds(Duration duration) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return whole == duration && whole < std::chrono::minutes(1) ? fmt::format("{} s", whole.count())
                                                              : to_human(duration);
}

std::string of_limit(std::uint64_t bytes) {
  return bytes == 0 ? std::string() : fmt::format(" of {} MiB", bytes >> 20);
}

}  // namespace

std::string end_sentence(const ExecutionResult& result, const ExecutionRequest& request) {
  switch (result.cause) {
    case Cause::kExited:
    case Cause::kUnknown:
      if (result.exit_code.value_or(0) == 0) return {};
      return fmt::format("The program ended with exit code {}.", *result.exit_code);
    case Cause::kSignalled: {
      const std::string_view name = signal_name(result.signal.value_or(0));
      return fmt::format("The program was ended by signal {}{}.", result.signal.value_or(0),
                         name.empty() ? std::string() : fmt::format(" ({})", name));
    }
    case Cause::kOom:
      return fmt::format("The program used more memory than its limit{} and was ended.",
                         of_limit(request.limits.memory_bytes));
    case Cause::kWall:
      if (request.timeout == Duration::zero()) return "The program ran out of time and was ended.";
      return fmt::format("The program was ended after its time limit of {}.",
                         seconds(request.timeout));
    case Cause::kCpu: return "The program used more CPU time than its limit and was ended.";
    case Cause::kOutput: return "The program wrote more output than its limit and was ended.";
    case Cause::kDisk:
      return fmt::format("The program wrote more to disk than its limit{} and was ended.",
                         of_limit(request.limits.disk_bytes));
    case Cause::kCancelled: return "The program was cancelled.";
    case Cause::kLost: return "The program's end was not seen.";
  }
  return {};
}

std::string compose_message(const ExecutionResult& result, const ExecutionRequest& request) {
  std::string message;
  const auto add = [&message](std::string_view part) {
    if (part.empty()) return;
    if (!message.empty()) message += '\n';
    message += part;
  };
  constexpr std::size_t kStreamMax = kMessageBytesMax / 2 - 8192;
  add(without_line_end(abridge(result.stdout_text.text, kStreamMax)));
  add(without_line_end(abridge(result.stderr_text.text, kStreamMax)));
  if (result.error) {
    const ProgramError& error = *result.error;
    add(error.value.empty()
            ? fmt::format("Error: {}", error.name)
            : fmt::format("Error: {}: {}", error.name, abridge(error.value, 4096)));
  } else if (!result.failure) {
    add(end_sentence(result, request));
  }
  if (result.failure) add(result.failure->message);
  for (const std::string& note : result.notes) add("Note: " + abridge(note, 1024));
  return message;
}

std::string missing_package_note(const ProgramError& error) {
  constexpr std::string_view kStart = "No module named '";
  if (error.name != "ModuleNotFoundError" || error.value.rfind(kStart, 0) != 0) return {};
  const std::string_view rest = std::string_view(error.value).substr(kStart.size());
  const std::string_view name = rest.substr(0, rest.find_first_of(".'"));
  if (!install::is_base_package(name)) return {};
  return fmt::format(
      "{0} is one of the base packages, but the image of this sandbox does not have it and it could "
      "not be installed; with a package index in the host's configuration (python.indexUrl) that has "
      "it, it is installed by itself",
      name);
}

}  // namespace berth
