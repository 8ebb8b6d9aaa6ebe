// What the configuration tells the reference provider to do in each slot.
//
// A script is read once, in open, and not changed afterwards; only the call counters move. Any
// thread.
#ifndef BERTH_PLUGINS_REFERENCE_SCRIPT_H_
#define BERTH_PLUGINS_REFERENCE_SCRIPT_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/abi.h"

namespace berth::reference {

enum class Slot : std::size_t {
  kOpen,
  kProbe,
  kScope,
  kCreate,
  kLookup,
  kFence,
  kRun,
  kPutFile,
  kGetFile,
  kDestroy,
  kListOwned,
  kShutdown,
};
inline constexpr std::size_t kSlotCount = 12;

enum class Reply { kNormal, kNever, kTwice };
enum class Effect { kNormal, kNone, kLate };
enum class Crash { kNever, kBefore, kAfter };

struct Text {
  std::string text;
  std::uint64_t repeat = 1;
};

struct ScriptedFile {
  std::string path;
  std::string text;
  std::uint32_t mode = 0644;
};

// One rule of one slot. The default rule is a provider that simply works, at once.
struct Rule {
  std::vector<std::uint64_t> on_calls;  // empty: every call
  std::string when_argv_contains;       // empty: every command
  std::chrono::milliseconds delay{0};
  std::chrono::milliseconds reply_delay{0};
  berth_outcome_class outcome = BERTH_DONE;
  berth_code code = BERTH_CODE_NONE;
  std::string message;
  std::uint64_t retry_after_ms = 0;
  Reply reply = Reply::kNormal;
  Effect effect = Effect::kNormal;
  std::chrono::milliseconds appear_after{0};
  std::uint64_t appear_after_lookups = 0;
  Crash crash = Crash::kNever;
  bool ignore_cancel = false;
  std::string account;  // reported instead of the configured one
  std::string name;     // reported instead of the real one
  std::optional<berth_presence> presence;
  std::vector<Text> out;
  std::vector<Text> err;
  std::uint64_t chunk_bytes = BERTH_OUTPUT_CHUNK_MAX_BYTES;
  std::vector<ScriptedFile> files;
  std::int32_t exit_code = 0;
  std::uint32_t signal = 0;
  berth_cause cause = BERTH_CAUSE_EXITED;
};

class Script {
 public:
  // Throws berth::Failure (rejected) with a sentence when the configuration is not understood.
  explicit Script(std::string_view config_json);

  // The rule of the next call of `slot`; counts the call. `argv` matters to run alone.
  const Rule& next(Slot slot, const std::vector<std::string_view>& argv = {});

  const std::string& account() const { return account_; }
  bool keeps_files() const { return keeps_files_; }
  bool runs_programs() const { return runs_programs_; }

 private:
  std::string account_ = "reference";
  bool keeps_files_ = true;
  bool runs_programs_ = false;
  std::array<std::vector<Rule>, kSlotCount> rules_;
  std::array<std::atomic<std::uint64_t>, kSlotCount> calls_{};
  Rule plain_;
};

}  // namespace berth::reference

#endif  // BERTH_PLUGINS_REFERENCE_SCRIPT_H_
