// growth_test CYCLES KILLS SEED
//
// Makes, uses and destroys sandboxes in a provider that is killed at random moments and started again, and
// then looks for anything that is left: processes, namespaces with them, mounts, control groups, files,
// descriptors, memory.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include "driver_process.h"
#include "machine.h"

namespace berth::local {
namespace {

int faults = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++faults;
  std::printf("left behind: %s\n", what.c_str());
}

std::size_t lines_of(const std::string& path) {
  const std::string text = read_small_file(path, 1 << 20).value_or("");
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::set<std::string> entries_of(const std::string& path, std::string_view prefix = "") {
  std::set<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix)) found.insert(name);
  }
  return found;
}

std::string memory_line(std::string_view key) {
  const std::string text = read_small_file("/proc/meminfo", 1 << 16).value_or("");
  const std::size_t at = text.find(key);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

// This process adopts whatever loses its parent, so an empty list of children is the proof that nothing
// of all that was started is alive.
bool children_are_gone() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  const std::string path = "/proc/self/task/" + std::to_string(getpid()) + "/children";
  return read_small_file(path).value_or("unreadable").empty();
}

// What the driver says after a cycle: its descriptors, and its memory in kilobytes.
struct Reading {
  std::size_t descriptors = 0;
  long kilobytes = 0;
};

std::optional<Reading> read_line(const std::string& line) {
  Reading reading;
  if (std::sscanf(line.c_str(), "%zu %ld", &reading.descriptors, &reading.kilobytes) != 2) {
    return std::nullopt;
  }
  return reading;
}

// The machine looks on; only the driver's providers make anything.
Config without_anything_ahead() {
  Config config = default_config();
  config.startup = StartupChoice::kCold;
  return config;
}

class Trial {
 public:
  Trial(int cycles, int kills, unsigned seed)
      : cycles_(cycles), kills_(kills), random_(seed), state_dir_(machine_.state_dir()) {}

  void run() {
    while (done_ < cycles_) {
      const bool last = killed_ == kills_;
      const int apart = std::max(2 * cycles_ / (kills_ + 1), 2);
      const int wanted = last ? cycles_ - done_ : std::uniform_int_distribution(1, apart)(random_);
      one_provider(std::min(wanted, cycles_ - done_), !last);
    }
  }

  int done() const { return done_; }
  int killed() const { return killed_; }
  int swept() const { return swept_; }
  long grown_kilobytes() const { return grown_kilobytes_; }
  Machine& machine() { return machine_; }

 private:
  // So many whole cycles, then the end: by a kill in the middle of what comes next, or in order.
  void one_provider(int wanted, bool kill_it) {
    Driver provider(state_dir_, {"cycle", std::to_string(wanted + (kill_it ? 1000 : 0))});
    std::optional<Reading> settled;
    for (int i = 0; i < wanted; ++i) {
      const std::string line = provider.line();
      const auto reading = read_line(line);
      if (!reading) {
        expect(false, "a provider that stopped with: " + line);
        std::exit(1);
      }
      ++done_;
      // The first cycles fill what stays for good: buffers, tables, the second thread's stack.
      constexpr int kWarm = 20;
      if (i == kWarm) settled = reading;
      if (settled) {
        const std::size_t more = std::max(reading->descriptors, settled->descriptors) -
                                 std::min(reading->descriptors, settled->descriptors);
        expect(more <= spare_descriptors_, "descriptors of the provider");
        grown_kilobytes_ = std::max(grown_kilobytes_, reading->kilobytes - settled->kilobytes);
      }
    }
    if (!kill_it) {
      expect(provider.line().empty(), "a provider that does not end");
      return;
    }
    constexpr int kCycleMicroseconds = 40'000;
    std::this_thread::sleep_for(std::chrono::microseconds(
        std::uniform_int_distribution(0, kCycleMicroseconds)(random_)));
    provider.kill_now();
    ++killed_;
    Driver next(state_dir_, {"sweep"});
    swept_ += std::atoi(next.line().c_str());
    expect(next.line().empty(), "a sweep that did not end");
  }

  const int cycles_;
  const int kills_;
  std::mt19937 random_;
  Machine machine_{without_anything_ahead()};
  const std::string state_dir_;
  // Of a template and the sandboxes that wait beside the one of the cycle.
  const std::size_t spare_descriptors_ = std::getenv("BERTH_LOCAL_STARTUP") == nullptr ? 0 : 48;
  int done_ = 0;
  int killed_ = 0;
  int swept_ = 0;
  long grown_kilobytes_ = 0;
};

// Half-made records of killed providers stay for an hour, since nobody knows whose they are. An hour is
// made to have passed.
void expect_drafts_to_go(Trial& trial) {
  const std::string folder = trial.machine().state_dir() + "/allocations";
  const std::set<std::string> drafts = entries_of(folder, ".");
  expect(drafts.size() <= static_cast<std::size_t>(trial.killed()), "more drafts than kills");
  const timespec long_ago[2] = {{1, 0}, {1, 0}};
  for (const std::string& draft : drafts) {
    utimensat(AT_FDCWD, (folder + "/" + draft).c_str(), long_ago, 0);
  }
  trial.machine().another();
  expect(entries_of(folder, ".").empty(), "drafts of killed providers");
  std::printf("half-made records of killed providers: %zu, all removed\n", drafts.size());
}

int perform(int cycles, int kills, unsigned seed) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const auto begun = std::chrono::steady_clock::now();
  const std::size_t mounts = lines_of("/proc/self/mountinfo");
  const std::string memory = memory_line("Slab:") + ", " + memory_line("Percpu:");
  const std::size_t descriptors = entries_of("/proc/self/fd").size();
  {
    Trial trial(cycles, kills, seed);
    trial.run();
    std::vector<std::string> groups;
    for (const CgroupBase& base : trial.machine().allocations().cgroups().bases()) {
      groups.push_back(base.folder);
    }
    const StateStore store(trial.machine().state_dir());
    for (const std::string& name : store.names()) {
      const bool alive = store.liveness(name) != Liveness::kDead;
      expect(false, "the record of " + name + (alive ? ", which lives" : ""));
    }
    expect(!groups.empty(), "no control groups were used");
    for (const std::string& group : groups) expect(!std::filesystem::exists(group), group);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr long kNoiseKilobytes = 512 * 1024;  // the sanitizer keeps what was freed
#else
    constexpr long kNoiseKilobytes = 2048;
#endif
    expect(trial.grown_kilobytes() < kNoiseKilobytes,
           std::to_string(trial.grown_kilobytes()) + " kB of memory in a provider");
    expect_drafts_to_go(trial);
    std::printf("%d cycles, %d kills (seed %u), %d sandboxes swept after kills; a provider grew by %ld kB\n",
                trial.done(), trial.killed(), seed, trial.swept(), trial.grown_kilobytes());
  }
  expect(eventually(children_are_gone), "processes");
  expect(lines_of("/proc/self/mountinfo") == mounts, "mounts");
  expect(entries_of("/proc/self/fd").size() == descriptors, "descriptors of this process");
  std::printf("kernel memory before: %s\nkernel memory after:  %s, %s\n", memory.c_str(),
              memory_line("Slab:").c_str(), memory_line("Percpu:").c_str());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun);
  std::printf("%lld s; %s\n", static_cast<long long>(seconds.count()), faults == 0 ? "nothing is left" : "FAULTS");
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace berth::local

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: growth_test CYCLES KILLS SEED\n");
    return 2;
  }
  return berth::local::perform(std::atoi(arguments[1]), std::atoi(arguments[2]),
                               static_cast<unsigned>(std::atoi(arguments[3])));
}
