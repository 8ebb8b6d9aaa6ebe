#include "tests/store/host_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace berth::test {
namespace {

constexpr int kSilenceMaxMs = 90'000;

}  // namespace

HostProcess::HostProcess(const std::filesystem::path& program, const std::filesystem::path& state,
                         std::vector<std::string> arguments, const std::string& kill_at) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  output_ = os::Fd(ends[0]);
  const os::Fd child_end(ends[1]);
  os::SpawnRequest request;
  request.program = program;
  request.arguments = std::move(arguments);
  request.arguments.insert(request.arguments.begin(), state.string());
  request.environment = {"PATH=/usr/bin:/bin"};
  if (!kill_at.empty()) request.environment.push_back("BERTH_TEST_KILL=" + kill_at);
  request.descriptors = {{child_end.get(), 1}, {2, 2}};
  auto spawned = os::Process::spawn(request);
  if (!spawned) throw std::runtime_error(spawned.error().message());
  process_.emplace(std::move(*spawned));
}

std::optional<std::string> HostProcess::line() {
  for (;;) {
    if (const auto end = buffer_.find('\n'); end != std::string::npos) {
      std::string found = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return found;
    }
    char bytes[4096];
    pollfd ready{output_.get(), POLLIN, 0};
    if (::poll(&ready, 1, kSilenceMaxMs) <= 0)
      throw std::runtime_error("a host process said nothing for 90 seconds");
    const ssize_t got = ::read(output_.get(), bytes, sizeof bytes);
    if (got <= 0) return std::nullopt;
    buffer_.append(bytes, static_cast<std::size_t>(got));
  }
}

std::vector<std::string> HostProcess::lines() {
  std::vector<std::string> all;
  while (auto next = line()) all.push_back(*next);
  return all;
}

}  // namespace berth::test
