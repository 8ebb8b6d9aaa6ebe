#include "core/lifecycle/intent.h"

#include <array>

namespace berth {
namespace {

constexpr std::array kAllStates = {
    IntentState::kIntended, IntentState::kDispatched, IntentState::kCreated,  IntentState::kRunning,
    IntentState::kCleaning, IntentState::kUncertain,  IntentState::kReleased,
};

}  // namespace

std::string_view to_string(IntentState state) {
  switch (state) {
    case IntentState::kIntended:
      return "INTENDED";
    case IntentState::kDispatched:
      return "DISPATCHED";
    case IntentState::kCreated:
      return "CREATED";
    case IntentState::kRunning:
      return "RUNNING";
    case IntentState::kCleaning:
      return "CLEANING";
    case IntentState::kUncertain:
      return "UNCERTAIN";
    case IntentState::kReleased:
      return "RELEASED";
  }
  return "";
}

std::optional<IntentState> intent_state_from(std::string_view text) {
  for (const IntentState state : kAllStates) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

std::string_view to_string(SessionState state) {
  switch (state) {
    case SessionState::kOpen:
      return "open";
    case SessionState::kRetiring:
      return "retiring";
    case SessionState::kRetired:
      return "retired";
  }
  return "";
}

std::optional<SessionState> session_state_from(std::string_view text) {
  for (const SessionState state :
       {SessionState::kOpen, SessionState::kRetiring, SessionState::kRetired}) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

}  // namespace berth
