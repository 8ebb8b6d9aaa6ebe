#include "tools/bench/sandboxes/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace berth::bench {
namespace {

// The number after `name` in lines of "Name:   123 kB", in bytes.
std::uint64_t kilobytes(std::istream& file, std::string_view name) {
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::stoull(line.substr(name.size())) * 1024;
  }
  return 0;
}

std::map<int, std::vector<int>> children_by_parent() {
  std::map<int, std::vector<int>> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    int pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size())
      continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    // The name in parentheses may hold anything; state and parent follow it.
    const auto end = text.rfind(')');
    if (end == std::string::npos || end + 4 > text.size()) continue;
    found[std::stoi(text.substr(end + 4))].push_back(pid);
  }
  return found;
}

}  // namespace

Result<std::vector<int>> processes_of(const std::filesystem::path& cgroup) {
  std::ifstream file(cgroup / "cgroup.procs");
  if (!file) return fail(ErrorKind::kIo, "cannot read the processes of " + cgroup.string());
  std::vector<int> found;
  for (int pid = 0; file >> pid;) found.push_back(pid);
  return found;
}

std::vector<int> descendants() {
  const auto children = children_by_parent();
  std::vector<int> found = {::getpid()};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const auto below = children.find(found[next]);
    if (below != children.end())
      found.insert(found.end(), below->second.begin(), below->second.end());
  }
  found.erase(found.begin());
  return found;
}

Result<std::uint64_t> proportional_bytes(int pid) {
  const std::filesystem::path folder = fmt::format("/proc/{}", pid);
  std::ifstream file(folder / "smaps_rollup");
  std::error_code error;
  if (!file && std::filesystem::exists(folder, error)) {
    return fail(ErrorKind::kUnavailable,
                fmt::format("the memory of process {} may not be looked at", pid));
  }
  return kilobytes(file, "Pss:");
}

std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  return kilobytes(file, "MemAvailable:");
}

}  // namespace berth::bench
