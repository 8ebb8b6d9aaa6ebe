// What Vercel's answers describe, read with suspicion: what is missing or of another type is empty,
// and states that did not exist when this was written are unknown. Values; any thread.
#ifndef BERTH_PLUGINS_VERCEL_MODEL_H_
#define BERTH_PLUGINS_VERCEL_MODEL_H_

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/values.hpp"

namespace berth::vercel {

inline constexpr std::string_view kOwnerTag = "berth-owner";

// Of a sandbox and of the session that it has.
enum class Phase {
  kStarting,
  kReady,
  kEnding,  // on its way to stopped, possibly with a snapshot
  kOver,    // stopped
  kBroken,  // failed or aborted
  kUnknown,
};
Phase phase_of(std::string_view status);
SandboxState state_of(Phase phase);
inline bool is_terminal(Phase phase) { return phase == Phase::kOver || phase == Phase::kBroken; }

// One run of a sandbox: commands and files belong to it.
struct Session {
  std::string id;
  std::string status;
  std::string project;
  std::optional<Usage> usage;  // once it is over
};

struct Sandbox {
  std::string name;
  std::string status;   // of the session where that is described, too
  std::string session;  // its current one
  std::string project;
  std::string owner;  // of the tag
  bool tagged = false;
  std::optional<bool> persistent;
  std::uint64_t created_unix_ms = 0;
  std::optional<Usage> usage;  // once it is over
};

// The sandbox of an answer that has one, with what its session adds.
std::optional<Sandbox> sandbox_of(const boost::json::value& answer);
// One element of a list.
std::optional<Sandbox> listed_sandbox(const boost::json::value& element);
std::optional<Session> session_of(const boost::json::value& answer);

// A member as text or as a number that is not negative; empty and 0 when it is not one.
std::string text_of(const boost::json::object& object, std::string_view key);
std::uint64_t number_of(const boost::json::object& object, std::string_view key);
const boost::json::object* object_of(const boost::json::value& value, std::string_view key);

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_MODEL_H_
