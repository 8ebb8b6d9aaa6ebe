#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// Tells on standard error why there is no file.
struct WritesElsewhere : Twin {
  Watched gets;
  void get_file(berth_op op, berth_str ref, const berth_get_file_spec* spec) override {
    gets.insert(op);
    Twin::get_file(op, ref, spec);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    static constexpr std::uint8_t kNone[] = {'n', 'o', 'n', 'e'};
    if (gets.erase(op) && outcome->code == BERTH_CODE_NOT_FOUND)
      Twin::output(op, BERTH_STREAM_STDERR, {kNone, sizeof kNone});
    Twin::op_complete(op, outcome);
  }
};

// What every run keeps track of; output comes from threads.
struct WatchesRuns : Twin {
  std::mutex mutex;
  std::map<berth_op, berth_command> runs;
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    {
      const std::lock_guard lock(mutex);
      runs[op] = *command;
    }
    Twin::run(op, ref, command);
  }
  // All zero for what is no run.
  berth_command command_of(berth_op op) {
    const std::lock_guard lock(mutex);
    const auto found = runs.find(op);
    return found == runs.end() ? berth_command{} : found->second;
  }
};

// A program that shall have no input has a little.
struct MakesUpInput : Twin {
  std::mutex mutex;
  std::set<berth_op> fed;
  berth_command command{};
  void run(berth_op op, berth_str ref, const berth_command* from) override {
    if (from->stdin_source != BERTH_STDIN_EMPTY) return Twin::run(op, ref, from);
    {
      const std::lock_guard lock(mutex);
      fed.insert(op);
    }
    command = *from;
    command.stdin_source = BERTH_STDIN_INPUT;
    Twin::run(op, ref, &command);
  }
  berth_input_status input(berth_op op, std::uint8_t* buffer, std::uint64_t capacity, std::uint64_t* got) override {
    {
      const std::lock_guard lock(mutex);
      if (fed.erase(op) != 0) {
        buffer[0] = 'x';
        *got = 1;
        return BERTH_INPUT_DATA;
      }
    }
    return Twin::input(op, buffer, capacity, got);
  }
};

// Mixes the streams of a program whose output is not limited.
struct MergesStreams : WatchesRuns {
  berth_flow output(berth_op op, berth_stream stream, berth_bytes bytes) override {
    const berth_command command = command_of(op);
    const bool merge = stream == BERTH_STREAM_STDERR && command.struct_size != 0 && command.stdout_cap_bytes == 0;
    return Twin::output(op, merge ? BERTH_STREAM_STDOUT : stream, bytes);
  }
};

// Does something to one piece of a long output.
struct DamagesOnePiece : Twin {
  std::mutex mutex;
  std::map<berth_op, std::uint64_t> sent;
  berth_flow output(berth_op op, berth_stream stream, berth_bytes bytes) override {
    constexpr std::uint64_t kFrom = 2'500'000;
    bool now = false;
    {
      const std::lock_guard lock(mutex);
      std::uint64_t& before = sent[op];
      now = before < kFrom && before + bytes.len >= kFrom;
      before += bytes.len;
    }
    return stream == BERTH_STREAM_STDOUT && now ? damage(op, bytes) : Twin::output(op, stream, bytes);
  }
  virtual berth_flow damage(berth_op op, berth_bytes bytes) = 0;
};

struct LosesPiece : DamagesOnePiece {
  berth_flow damage(berth_op, berth_bytes) override { return BERTH_OUTPUT_ACCEPTED; }
};

struct RepeatsPiece : DamagesOnePiece {
  berth_flow damage(berth_op op, berth_bytes bytes) override {
    bytes.len = std::min<std::uint64_t>(bytes.len, 4096);
    Twin::output(op, BERTH_STREAM_STDOUT, bytes);
    return Twin::output(op, BERTH_STREAM_STDOUT, bytes);
  }
};

// The second half of the piece comes first.
struct ReordersPiece : DamagesOnePiece {
  berth_flow damage(berth_op op, berth_bytes bytes) override {
    const std::uint64_t half = bytes.len / 2;
    Twin::output(op, BERTH_STREAM_STDOUT, {bytes.ptr + half, bytes.len - half});
    return Twin::output(op, BERTH_STREAM_STDOUT, {bytes.ptr, half});
  }
};

// Sends whole characters only, and forgets the rest of the piece.
struct CutsCharacters : Twin {
  static std::uint64_t begun(berth_bytes bytes) {
    for (std::uint64_t back = 1; back <= 3 && back <= bytes.len; ++back) {
      const std::uint8_t c = bytes.ptr[bytes.len - back];
      if ((c & 0xC0) == 0x80) continue;
      const std::uint64_t whole = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
      return whole > back ? back : 0;
    }
    return 0;
  }
  berth_flow output(berth_op op, berth_stream stream, berth_bytes bytes) override {
    if (stream == BERTH_STREAM_STDOUT && bytes.len > 1000) bytes.len -= begun(bytes);
    return Twin::output(op, stream, bytes);
  }
};

// Goes on for three pieces after it was told to pause.
struct IgnoresPause : Twin {
  std::mutex mutex;
  std::map<berth_op, int> ignored;
  berth_flow output(berth_op op, berth_stream stream, berth_bytes bytes) override {
    const berth_flow flow = Twin::output(op, stream, bytes);
    const std::lock_guard lock(mutex);
    return flow == BERTH_OUTPUT_PAUSE && ++ignored[op] <= 3 ? BERTH_OUTPUT_ACCEPTED : flow;
  }
};

struct IgnoresLimit : Twin {
  berth_flow output(berth_op op, berth_stream stream, berth_bytes bytes) override {
    const berth_flow flow = Twin::output(op, stream, bytes);
    return flow == BERTH_OUTPUT_LIMIT ? BERTH_OUTPUT_ACCEPTED : flow;
  }
};

// Reads no more of a program once one of its streams has its limit; it is let go when its sandbox ends.
struct StopsAtLimit : WatchesRuns {
  std::set<berth_op> stuck;
  bool is_stuck(berth_op op) {
    const std::lock_guard lock(mutex);
    return stuck.contains(op);
  }
  berth_flow output(berth_op op, berth_stream stream, berth_bytes bytes) override {
    const berth_flow flow = Twin::output(op, stream, bytes);
    if (flow != BERTH_OUTPUT_LIMIT || command_of(op).stderr_cap_bytes != 0) return flow;
    const std::lock_guard lock(mutex);
    stuck.insert(op);
    return BERTH_OUTPUT_PAUSE;
  }
  berth_wait_status op_wait(berth_op op, std::uint64_t timeout_ns) override {
    if (!is_stuck(op)) return Twin::op_wait(op, timeout_ns);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return BERTH_WAIT_TIMEOUT;
  }
  void destroy(berth_op op, berth_str name, berth_str ref) override {
    {
      const std::lock_guard lock(mutex);
      stuck.clear();
    }
    Twin::destroy(op, name, ref);
  }
};

// Takes "it may go on" for "there is input", and waits for more of that.
struct MistakesReady : WatchesRuns {
  berth_wait_status op_wait(berth_op op, std::uint64_t timeout_ns) override {
    if (command_of(op).stdin_source != BERTH_STDIN_INPUT) return Twin::op_wait(op, timeout_ns);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return BERTH_WAIT_TIMEOUT;
  }
};

}  // namespace

const Faults& strm_faults() {
  static const Faults* const all = new Faults{
      {"STRM-001", &make<WritesElsewhere>},       {"STRM-002", &make<MakesUpInput>},
      {"STRM-003", &make<MergesStreams>},         {"STRM-101", &make<LosesPiece>},
      {"STRM-101/repeats", &make<RepeatsPiece>},  {"STRM-101/reorders", &make<ReordersPiece>},
      {"STRM-102", &make<CutsCharacters>},        {"STRM-004", &make<IgnoresPause>},
      {"STRM-005", &make<IgnoresLimit>},          {"STRM-005/stops", &make<StopsAtLimit>},
      {"STRM-006", &make<MistakesReady>},
  };
  return *all;
}

}  // namespace berth::broken
