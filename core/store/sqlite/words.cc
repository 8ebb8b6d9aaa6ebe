#include "core/store/sqlite/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <iterator>
#include <string>

#include "core/base/json.h"

namespace berth::sqlite {
namespace {

constexpr std::array kIntentStates = {
    IntentState::kIntended, IntentState::kDispatched, IntentState::kCreated, IntentState::kRunning,
    IntentState::kCleaning, IntentState::kUncertain,  IntentState::kReleased};
constexpr std::array kSessionStates = {SessionState::kOpen, SessionState::kRetiring,
                                       SessionState::kRetired};
constexpr std::array kSettlements = {Settlement::kCompleted, Settlement::kInfrastructureFailure,
                                     Settlement::kCancelled, Settlement::kRefused,
                                     Settlement::kHostDied,  Settlement::kUncertain};

template <class Enum, std::size_t count>
Result<Enum> find(const std::array<Enum, count>& values, std::string_view word,
                  std::string_view what) {
  for (const Enum value : values)
    if (stored(value) == word) return value;
  return fail(
      ErrorKind::kCorrupt,
      fmt::format("the store holds '{}', which is no {} that this berth knows", word, what));
}

Error bad_list(std::string_view text) {
  return Error(
      ErrorKind::kCorrupt,
      fmt::format("the store holds '{}' where a list of pairs belongs", text.substr(0, 100)));
}

// Calls `take(name, value)` for each pair; false ends it.
template <class Take>
bool each_pair(std::string_view text, Take take) {
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_array()) return false;
  for (const boost::json::value& item : parsed->get_array()) {
    const boost::json::array* pair = item.if_array();
    if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string()) return false;
    if (!take(std::string((*pair)[0].get_string()), (*pair)[1])) return false;
  }
  return true;
}

void append(std::string& text, std::string_view value) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (!std::all_of(value.begin(), value.end(), plain)) {
    text += to_json_text(boost::json::value(value));
    return;
  }
  text.append("\"").append(value).append("\"");
}

void append(std::string& text, std::int64_t value) {
  fmt::format_to(std::back_inserter(text), "{}", value);
}

// Written by hand: a document for it would take an allocation for each of its values.
template <class List>
std::string list_text(const List& list) {
  std::string text = "[";
  for (const auto& [name, value] : list) {
    text += text.size() == 1 ? "[" : ",[";
    append(text, name);
    text += ',';
    append(text, value);
    text += ']';
  }
  text += ']';
  return text;
}

}  // namespace

std::string_view stored(IntentState state) {
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

std::string_view stored(SessionState state) {
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

std::string_view stored(Settlement settlement) {
  switch (settlement) {
    case Settlement::kCompleted:
      return "completed";
    case Settlement::kInfrastructureFailure:
      return "infrastructure_failure";
    case Settlement::kCancelled:
      return "cancelled";
    case Settlement::kRefused:
      return "refused";
    case Settlement::kHostDied:
      return "host_died";
    case Settlement::kUncertain:
      return "uncertain";
  }
  return "";
}

Result<IntentState> stored_intent_state(std::string_view word) {
  return find(kIntentStates, word, "state of an intent");
}

Result<SessionState> stored_session_state(std::string_view word) {
  return find(kSessionStates, word, "state of a session");
}

Result<Settlement> stored_settlement(std::string_view word) {
  return find(kSettlements, word, "settlement");
}

std::string stored(const Pairs& pairs) { return list_text(pairs); }

std::string stored(const Timings& timings) { return list_text(timings); }

Result<Pairs> stored_pairs(std::string_view text) {
  Pairs pairs;
  const bool good = each_pair(text, [&](std::string name, const boost::json::value& value) {
    if (!value.is_string()) return false;
    pairs.emplace_back(std::move(name), std::string(value.get_string()));
    return true;
  });
  if (!good) return fail(bad_list(text));
  return pairs;
}

Result<Timings> stored_timings(std::string_view text) {
  Timings timings;
  const bool good = each_pair(text, [&](std::string name, const boost::json::value& value) {
    const std::int64_t* took = value.if_int64();
    if (took == nullptr) return false;
    timings.emplace_back(std::move(name), *took);
    return true;
  });
  if (!good) return fail(bad_list(text));
  return timings;
}

}  // namespace berth::sqlite
