#include "cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <sstream>
#include <thread>

namespace berth::local {
namespace {

constexpr std::uint64_t kPeriodMicroseconds = 100'000;
// An eighth of a sandbox's memory besides: two busy connections at the least.
constexpr std::uint64_t kSocketPart = 8;
constexpr std::size_t kTableMaxBytes = 1 << 20;

struct Mount {
  std::string point;
  std::string root;
  bool unified = false;
  std::string options;
};

std::optional<std::uint64_t> counted(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

// The number after `key` at the start of a line of a flat table such as memory.events.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ') {
      return counted(line.substr(key.size() + 1));
    }
  }
  return std::nullopt;
}

std::vector<Mount> cgroup_mounts(const CgroupView& view) {
  std::vector<Mount> found;
  std::istringstream table(read_small_file(view.mountinfo, kTableMaxBytes).value_or(""));
  std::string line;
  while (std::getline(table, line)) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash));
    std::istringstream right(line.substr(dash + 3));
    std::string skip;
    Mount mount;
    std::string type;
    left >> skip >> skip >> skip >> mount.root >> mount.point;
    right >> type >> skip >> mount.options;
    if (type != "cgroup" && type != "cgroup2") continue;
    mount.unified = type == "cgroup2";
    found.push_back(mount);
  }
  return found;
}

bool has_word(std::string_view list, std::string_view word, char separator) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(separator));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    if (item == word) return true;
  }
  return false;
}

// The group of this process in the hierarchy of `controller`, or in the version 2 tree for "".
std::optional<std::string> own_group(const CgroupView& view, std::string_view controller) {
  std::istringstream table(read_small_file(view.own_groups, kTableMaxBytes).value_or(""));
  std::string line;
  while (std::getline(table, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view names = std::string_view(line).substr(first + 1, second - first - 1);
    if (controller.empty() ? names.empty() : has_word(names, controller, ',')) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

std::string below(const Mount& mount, std::string_view group) {
  std::string_view inside = group;
  if (mount.root != "/" && inside.starts_with(mount.root)) inside.remove_prefix(mount.root.size());
  while (inside.ends_with('/')) inside.remove_suffix(1);
  return mount.point + std::string(inside);
}

const char* name_of(Controller controller) {
  switch (controller) {
    case Controller::kMemory: return "memory";
    case Controller::kPids: return "pids";
    case Controller::kCpu: return "cpu";
    case Controller::kCpuAccounting: return "cpuacct";
  }
  return "";
}

bool make_group(const std::string& path) {
  return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

bool folder_exists(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0;
}

// A version 2 folder hands controllers down only when it says so; the base must, and its parent too.
std::string enable_unified(const CgroupBase& base) {
  std::string wanted;
  for (const Controller controller : base.controllers) {
    if (controller == Controller::kCpuAccounting) continue;
    wanted += std::string(wanted.empty() ? "+" : " +") + name_of(controller);
  }
  if (wanted.empty()) return {};
  const std::string parent = base.folder.substr(0, base.folder.rfind('/'));
  for (const std::string& folder : {parent, base.folder}) {
    const std::string path = folder + "/cgroup.subtree_control";
    const std::string now = read_small_file(path).value_or("");
    bool all = true;
    for (const Controller controller : base.controllers) {
      all = all && (controller == Controller::kCpuAccounting ||
                    has_word(now.substr(0, now.find('\n')), name_of(controller), ' '));
    }
    if (all) continue;
    const int error = write_control(path, wanted);
    if (error != 0) {
      return path + " does not accept \"" + wanted + "\": " + error_text(error) +
             "; name a delegated group without processes in cgroupParent";
    }
  }
  return {};
}

std::string make_base(const CgroupBase& base) {
  if (!make_group(base.folder)) {
    return "cannot make " + base.folder + ": " + error_text(errno) +
           "; delegate a group to this user and name it in cgroupParent";
  }
  return base.unified ? enable_unified(base) : std::string();
}

// The sandbox's own folder, and the base above it where this is the first. Another process may take an
// empty base away in between, which is a reason to do it again and not to fail.
std::string make_place(const CgroupBase& place) {
  constexpr int kAttempts = 20;
  CgroupBase base = place;
  base.folder = place.folder.substr(0, place.folder.rfind('/'));
  std::string problem;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    problem = make_base(base);
    if (!problem.empty()) continue;
    if (mkdir(place.folder.c_str(), 0755) == 0) return {};
    const int error = errno;
    problem = "cannot make " + place.folder + ": " + error_text(error);
    // Whether the base is there now says nothing: a third process may have made it again.
    if (error != ENOENT) break;
  }
  return problem;
}

std::string set_limit(const std::string& path, const std::string& value, bool optional = false) {
  const int error = write_control(path, value);
  if (error == 0 || (optional && error == ENOENT)) return {};
  return path + " does not accept " + value + ": " + error_text(error);
}

std::string limit_memory(const std::string& folder, bool unified, std::uint64_t bytes) {
  const std::string value = std::to_string(bytes);
  if (unified) {
    std::string problem = set_limit(folder + "/memory.max", value);
    if (problem.empty()) problem = set_limit(folder + "/memory.swap.max", "0", true);
    return problem;
  }
  // The limit on both together is never below the other: raised, it goes first.
  write_control(folder + "/memory.memsw.limit_in_bytes", value);
  std::string problem = set_limit(folder + "/memory.limit_in_bytes", value);
  // Without swap accounting in the kernel the second file is not there, and nothing is swapped out
  // on behalf of a group whose swappiness is zero.
  if (problem.empty()) problem = set_limit(folder + "/memory.memsw.limit_in_bytes", value, true);
  if (problem.empty()) problem = set_limit(folder + "/memory.swappiness", "0", true);
  // Version 1 counts what sockets hold apart, and not at all unless it is limited.
  const std::string sockets = std::to_string(bytes / kSocketPart);
  if (problem.empty()) problem = set_limit(folder + "/memory.kmem.tcp.limit_in_bytes", sockets, true);
  return problem;
}

std::string limit_cpu(const std::string& folder, bool unified, std::uint32_t millis) {
  if (millis == 0) return {};
  const std::string quota = std::to_string(std::max<std::uint64_t>(1000, millis * kPeriodMicroseconds / 1000));
  const std::string period = std::to_string(kPeriodMicroseconds);
  if (unified) return set_limit(folder + "/cpu.max", quota + " " + period);
  std::string problem = set_limit(folder + "/cpu.cfs_period_us", period);
  if (problem.empty()) problem = set_limit(folder + "/cpu.cfs_quota_us", quota);
  return problem;
}

void kill_members(const std::string& folder) {
  if (write_control(folder + "/cgroup.kill", "1") == 0) return;
  std::istringstream members(read_small_file(folder + "/cgroup.procs", kTableMaxBytes).value_or(""));
  pid_t pid = 0;
  while (members >> pid) {
    if (pid > 1) kill(pid, SIGKILL);
  }
}

// Which of the wanted controllers a version 2 group could hand down. CPU time is counted without one.
std::vector<Controller> offered(const std::string& group, const std::vector<Controller>& wanted) {
  const std::string all = read_small_file(group + "/cgroup.controllers").value_or("");
  std::vector<Controller> found;
  for (const Controller controller : wanted) {
    if (controller == Controller::kCpuAccounting ||
        has_word(all.substr(0, all.find('\n')), name_of(controller), ' ')) {
      found.push_back(controller);
    }
  }
  return found;
}

}  // namespace

CgroupTree CgroupTree::detect(const std::string& parent, std::string_view id,
                              const CgroupView& view) {
  CgroupTree tree;
  const std::string leaf = "/berth-" + std::string(id.substr(0, 12));
  const std::vector<Mount> mounts = cgroup_mounts(view);
  std::vector<Controller> wanted{Controller::kMemory, Controller::kPids, Controller::kCpu,
                                 Controller::kCpuAccounting};
  for (const Mount& mount : mounts) {
    if (mount.unified) continue;
    CgroupBase base;
    for (const Controller controller : wanted) {
      if (has_word(mount.options, name_of(controller), ',')) base.controllers.push_back(controller);
    }
    if (base.controllers.empty()) continue;
    const auto own = own_group(view, name_of(base.controllers.front()));
    if (parent.empty() && !own) continue;
    for (const Controller controller : base.controllers) std::erase(wanted, controller);
    base.folder = below(mount, parent.empty() ? *own : parent) + leaf;
    tree.bases_.push_back(base);
  }
  for (const Mount& mount : mounts) {
    if (!mount.unified) continue;
    CgroupBase base;
    base.unified = true;
    const auto own = own_group(view, "");
    if (parent.empty() && !own) continue;
    std::string place = below(mount, parent.empty() ? *own : parent);
    base.controllers = offered(place, wanted);
    // A group that has processes cannot hand its controllers down, so unless a place is named, the
    // sandboxes become siblings of this process where the group above has what is wanted.
    if (parent.empty() && place != mount.point) {
      const std::string above = place.substr(0, place.rfind('/'));
      const std::vector<Controller> there = offered(above, wanted);
      if (std::count(there.begin(), there.end(), Controller::kMemory) > 0) {
        place = above;
        base.controllers = there;
      }
    }
    for (const Controller controller : base.controllers) std::erase(wanted, controller);
    base.folder = place + leaf;
    tree.bases_.push_back(base);
    break;
  }
  std::erase(wanted, Controller::kCpuAccounting);
  for (const Controller controller : wanted) {
    tree.problem_ += (tree.problem_.empty() ? "no hierarchy has the controller " : ", ") +
                     std::string(name_of(controller));
  }
  return tree;
}

std::string CgroupTree::try_out() {
  for (const CgroupBase& base : bases_) {
    if (!problem_.empty()) break;
    problem_ = make_base(base);
  }
  release();
  return problem_;
}

std::string CgroupTree::describe() const {
  std::string text;
  for (const CgroupBase& base : bases_) {
    for (const Controller controller : base.controllers) {
      text += std::string(text.empty() ? "" : ", ") + name_of(controller) +
              (base.unified ? " (v2)" : " (v1)");
    }
    if (base.unified && base.controllers.empty()) text += ", kill (v2)";
  }
  return text;
}

void CgroupTree::release() const {
  for (const CgroupBase& base : bases_) rmdir(base.folder.c_str());
}

SandboxCgroup::SandboxCgroup(const std::vector<CgroupBase>& bases, std::string_view name)
    : places_(bases) {
  for (CgroupBase& place : places_) place.folder += "/" + std::string(name);
}

SandboxCgroup SandboxCgroup::with_controllers() const {
  SandboxCgroup made = *this;
  std::erase_if(made.places_, [](const CgroupBase& place) { return place.unified && place.controllers.empty(); });
  return made;
}

std::string SandboxCgroup::make(const CgroupLimits& limits) const {
  for (const CgroupBase& place : places_) {
    const std::string missing = make_place(place);
    if (!missing.empty()) return missing;
  }
  return limit(limits);
}

std::string SandboxCgroup::limit(const CgroupLimits& limits) const {
  for (const CgroupBase& place : places_) {
    for (const Controller controller : place.controllers) {
      std::string problem;
      if (controller == Controller::kMemory) {
        problem = limit_memory(place.folder, place.unified, limits.memory_bytes);
      } else if (controller == Controller::kPids) {
        problem = set_limit(place.folder + "/pids.max", std::to_string(limits.processes));
      } else if (controller == Controller::kCpu) {
        problem = limit_cpu(place.folder, place.unified, limits.cpu_millis);
      }
      if (!problem.empty()) return problem;
    }
  }
  return {};
}

std::vector<std::string> SandboxCgroup::folders() const {
  std::vector<std::string> found;
  for (const CgroupBase& place : places_) found.push_back(place.folder);
  return found;
}

std::vector<Fd> SandboxCgroup::open_tasks() const {
  std::vector<Fd> found;
  for (const CgroupBase& place : places_) {
    if (place.unified) continue;
    found.emplace_back(open((place.folder + "/tasks").c_str(), O_WRONLY | O_CLOEXEC));
  }
  return found;
}

Fd SandboxCgroup::open_unified() const {
  for (const CgroupBase& place : places_) {
    if (place.unified) return Fd(open(place.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return {};
}

std::string SandboxCgroup::folder_of(Controller controller, bool* unified) const {
  for (const CgroupBase& place : places_) {
    if (std::count(place.controllers.begin(), place.controllers.end(), controller) == 0) continue;
    *unified = place.unified;
    return place.folder;
  }
  return {};
}

CgroupCounters SandboxCgroup::counters() const {
  CgroupCounters counters;
  bool unified = false;
  const auto text = [](const std::string& path) { return read_small_file(path).value_or(""); };
  const std::string memory = folder_of(Controller::kMemory, &unified);
  if (!memory.empty()) {
    counters.oom_kills = number_after(
        text(memory + (unified ? "/memory.events" : "/memory.oom_control")), "oom_kill");
    counters.memory_peak_bytes =
        counted(text(memory + (unified ? "/memory.peak" : "/memory.max_usage_in_bytes")));
  }
  const std::string cpu = folder_of(Controller::kCpuAccounting, &unified);
  if (!cpu.empty() && unified) {
    const auto microseconds = number_after(text(cpu + "/cpu.stat"), "usage_usec");
    if (microseconds) counters.cpu_ns = *microseconds * 1000;
  } else if (!cpu.empty()) {
    counters.cpu_ns = counted(text(cpu + "/cpuacct.usage"));
  }
  return counters;
}

bool cgroups_populated(const std::vector<std::string>& folders) {
  return std::any_of(folders.begin(), folders.end(), [](const std::string& folder) {
    const auto members = read_small_file(folder + "/cgroup.procs", kTableMaxBytes);
    return members && !members->empty();
  });
}

bool remove_cgroups(const std::vector<std::string>& folders, int timeout_ms) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  auto pause = 50us;
  while (true) {
    bool gone = true;
    for (const std::string& folder : folders) {
      if (rmdir(folder.c_str()) == 0 || errno == ENOENT) continue;
      gone = gone && !folder_exists(folder);
      kill_members(folder);
    }
    if (gone) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(pause * 2, 10ms);
  }
}

}  // namespace berth::local
