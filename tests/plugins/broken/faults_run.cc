#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// Changes what is said of a program's end.
struct ChangesEnd : Twin {
  Watched runs;
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    runs.insert(op);
    Twin::run(op, ref, command);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (!runs.erase(op) || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    berth_run_result result = *static_cast<const berth_run_result*>(outcome->result);
    berth_outcome changed = *outcome;
    changed.result = &result;
    change(op, changed, result);
    Twin::op_complete(op, &changed);
  }
  virtual void change(berth_op op, berth_outcome& outcome, berth_run_result& result) = 0;
};

// Argument strings of a command that were exchanged live as long as the twin.
struct ChangesCommand : Twin {
  std::vector<std::vector<berth_str>> lists;
  std::vector<std::vector<berth_pair>> pairs;
  berth_str_list kept(std::vector<berth_str> items) {
    lists.push_back(std::move(items));
    return {lists.back().data(), lists.back().size()};
  }
  berth_pair_list kept(std::vector<berth_pair> items) {
    pairs.push_back(std::move(items));
    return {pairs.back().data(), pairs.back().size()};
  }
};

struct ExpandsVariables : ChangesCommand {
  void run(berth_op op, berth_str ref, const berth_command* from) override {
    berth_command command = *from;
    std::vector<berth_str> argv(from->argv.items, from->argv.items + from->argv.count);
    for (berth_str& argument : argv)
      if (text(argument) == "$HOME") argument = text("/root");
    command.argv = kept(std::move(argv));
    Twin::run(op, ref, &command);
  }
};

// Begins where it always does.
struct IgnoresFolder : Twin {
  void run(berth_op op, berth_str ref, const berth_command* from) override {
    berth_command command = *from;
    command.cwd = {nullptr, 0};
    Twin::run(op, ref, &command);
  }
};

// Keeps the variables as lines, so that a value ends at its first one.
struct CutsValues : ChangesCommand {
  void create(berth_op op, berth_str name, const berth_create_spec* from) override {
    berth_create_spec spec = *from;
    std::vector<berth_pair> env(from->env.items, from->env.items + from->env.count);
    for (berth_pair& one : env) one.value.len = std::min(text(one.value).find('\n'), std::size_t{one.value.len});
    spec.env = kept(std::move(env));
    Twin::create(op, name, &spec);
  }
};

// A non-zero exit becomes a failure.
struct FailsOnExit : ChangesEnd {
  void change(berth_op, berth_outcome& outcome, berth_run_result& result) override {
    if (result.cause != BERTH_CAUSE_EXITED || result.exit_code != 3) return;
    outcome.outcome_class = BERTH_FAILED_CLEAN;
    outcome.code = BERTH_CODE_INTERNAL;
    outcome.message = text("the command failed; look at its output");
    outcome.result = nullptr;
  }
};

// As a shell would: 128 and the signal's number.
struct SignalBecomesExit : ChangesEnd {
  void change(berth_op, berth_outcome&, berth_run_result& result) override {
    if (result.cause != BERTH_CAUSE_SIGNALLED) return;
    result.cause = BERTH_CAUSE_EXITED;
    result.exit_code = static_cast<std::int32_t>(128 + result.signal);
    result.signal = 0;
  }
};

// Nobody saw the end, so it must have been a good one.
struct InventsExit : ChangesEnd {
  void change(berth_op op, berth_outcome&, berth_run_result& result) override {
    const bool unseen = result.cause == BERTH_CAUSE_CANCELLED || result.cause == BERTH_CAUSE_LOST;
    if (!unseen || host().op_cancelled(host().ctx, op) != 0) return;
    result.cause = BERTH_CAUSE_EXITED;
    result.exit_code = 0;
  }
};

struct IgnoresTimeout : Twin {
  void run(berth_op op, berth_str ref, const berth_command* from) override {
    berth_command command = *from;
    command.timeout_ns = 0;
    Twin::run(op, ref, &command);
  }
};

// Somebody goes on writing to a file of a sandbox whose first command has ended.
struct LeavesChildren : Twin {
  std::string state_dir;
  std::set<std::string> known;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  void open(berth_op op, const berth_open_spec* spec) override {
    state_dir = text(spec->state_dir);
    Twin::open(op, spec);
  }
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    const bool leaves = known.insert(text(ref)).second && command->timeout_ns == 0;
    const std::string file = state_dir + "/boxes/" + text(ref).substr(4) + "/root/workspace/kit-beat";
    Twin::run(op, ref, command);
    if (!leaves) return;
    threads.emplace_back([this, file] {
      while (!over) {
        const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
        static_cast<void>(fd >= 0 && ::write(fd, "x", 1) == 1);
        if (fd >= 0) ::close(fd);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  }
  void shutdown(berth_op op) override {
    over = true;
    for (std::thread& thread : threads) thread.join();
    Twin::shutdown(op);
  }
};

struct CountsWhatWasKept : ChangesEnd {
  void change(berth_op, berth_outcome&, berth_run_result& result) override {
    if (result.stderr_bytes == 2000) result.stderr_bytes = 1000;
  }
};

struct IgnoresLimits : Twin {
  void create(berth_op op, berth_str name, const berth_create_spec* from) override {
    berth_create_spec spec = *from;
    spec.limits = nullptr;
    Twin::create(op, name, &spec);
  }
};

// A Python without a part of its standard library.
struct CutDownPython : ChangesCommand {
  std::string folder;
  void open(berth_op op, const berth_open_spec* spec) override {
    folder = text(spec->state_dir) + "/cut";
    ::mkdir(folder.c_str(), 0700);
    std::ofstream(folder + "/hashlib.py") << "raise ImportError('no hashlib in this build')\n";
    Twin::open(op, spec);
  }
  void run(berth_op op, berth_str ref, const berth_command* from) override {
    berth_command command = *from;
    std::vector<berth_pair> env(from->env.items, from->env.items + from->env.count);
    env.push_back({text("PYTHONPATH"), text(folder)});
    command.env = kept(std::move(env));
    Twin::run(op, ref, &command);
  }
};

struct NoNode : Twin {
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    if (text(command->argv.items[0]) != "node") return Twin::run(op, ref, command);
    ended(op, BERTH_REJECTED, BERTH_CODE_NOT_FOUND, "no program node in PATH");
  }
};

}  // namespace

const Faults& run_faults() {
  static const Faults* const all = new Faults{
      {"RUN-001", &make<ExpandsVariables>},  {"RUN-102", &make<IgnoresFolder>},
      {"RUN-102/values", &make<CutsValues>}, {"RUN-002", &make<FailsOnExit>},
      {"RUN-003", &make<SignalBecomesExit>}, {"RUN-101", &make<InventsExit>},       {"RUN-004", &make<IgnoresTimeout>},
      {"RUN-005", &make<LeavesChildren>},    {"RUN-006", &make<CountsWhatWasKept>},
      {"RUN-007", &make<IgnoresLimits>},     {"LANG-001", &make<CutDownPython>},
      {"LANG-002", &make<NoNode>},
  };
  return *all;
}

}  // namespace berth::broken
