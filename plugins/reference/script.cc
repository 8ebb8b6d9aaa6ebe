#include "plugins/reference/script.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <span>

#include "berth/outcome.hpp"

namespace berth::reference {
namespace {

namespace json = boost::json;

constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

constexpr std::string_view kSlots[] = {"open",     "probe",   "scope",      "create",
                                       "lookup",   "fence",   "run",        "put_file",
                                       "get_file", "destroy", "list_owned", "shutdown"};
constexpr std::string_view kClasses[] = {"unset",        "done",         "rejected",
                                         "failed_clean", "failed_dirty", "uncertain"};
constexpr std::string_view kCodes[] = {
    "none",    "invalid_argument", "unsupported",     "not_found",  "conflict",
    "quota",   "rate_limited",     "unauthenticated", "permission", "unavailable",
    "timeout", "cancelled",        "internal"};
constexpr std::string_view kReplies[] = {"normal", "never", "twice"};
constexpr std::string_view kEffects[] = {"normal", "none", "late"};
constexpr std::string_view kCrashes[] = {"never", "before", "after"};
constexpr std::string_view kPresences[] = {"unknown", "present", "in_progress", "absent_now",
                                           "absent_fenced"};
constexpr std::string_view kCauses[] = {"unknown", "exited", "signalled", "oom",       "wall",
                                        "cpu",     "output", "disk",      "cancelled", "lost"};

[[noreturn]] void refuse(std::string_view where, std::string_view wanted) {
  throw Failure::rejected(
      Code::kInvalidArgument,
      "configuration of reference: " + std::string(where) + " must be " + std::string(wanted));
}

// The position of a word among those allowed, which is also its number in the ABI.
std::uint32_t word(const json::value& value, std::string_view where,
                   std::span<const std::string_view> words) {
  if (const auto* text = value.if_string()) {
    const auto found = std::find(words.begin(), words.end(), std::string_view(*text));
    if (found != words.end()) return static_cast<std::uint32_t>(found - words.begin());
  }
  refuse(where, "one of the words the manifest's configSchema lists");
}

std::uint64_t number(const json::value& value, std::string_view where) {
  if (const auto* signed_number = value.if_int64(); signed_number != nullptr && *signed_number >= 0)
    return static_cast<std::uint64_t>(*signed_number);
  refuse(where, "a number, not negative");
}

std::string text(const json::value& value, std::string_view where) {
  if (const auto* string = value.if_string()) return std::string(*string);
  refuse(where, "a text");
}

const json::array& list(const json::value& value, std::string_view where) {
  if (const auto* array = value.if_array()) return *array;
  refuse(where, "a list");
}

const json::object& object(const json::value& value, std::string_view where) {
  if (const auto* found = value.if_object()) return *found;
  refuse(where, "an object");
}

std::vector<Text> texts(const json::value& value, std::string_view where) {
  std::vector<Text> out;
  for (const json::value& item : list(value, where)) {
    Text one;
    for (const auto& [key, member] : object(item, where)) {
      if (key == "text")
        one.text = text(member, where);
      else if (key == "repeat")
        one.repeat = number(member, where);
      else
        refuse(where, "made of text and repeat");
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<ScriptedFile> files(const json::value& value, std::string_view where) {
  std::vector<ScriptedFile> out;
  for (const json::value& item : list(value, where)) {
    ScriptedFile one;
    for (const auto& [key, member] : object(item, where)) {
      if (key == "path")
        one.path = text(member, where);
      else if (key == "text")
        one.text = text(member, where);
      else if (key == "mode")
        one.mode = static_cast<std::uint32_t>(number(member, where));
      else
        refuse(where, "made of path, text and mode");
    }
    out.push_back(std::move(one));
  }
  return out;
}

// What only run and create have.
bool read_program_field(Rule& rule, std::string_view key, const json::value& value,
                        const std::string& where) {
  if (key == "stdout")
    rule.out = texts(value, where);
  else if (key == "stderr")
    rule.err = texts(value, where);
  else if (key == "chunkBytes")
    rule.chunk_bytes = std::max<std::uint64_t>(1, number(value, where));
  else if (key == "files")
    rule.files = files(value, where);
  else if (key == "exitCode")
    rule.exit_code = static_cast<std::int32_t>(number(value, where));
  else if (key == "signal")
    rule.signal = static_cast<std::uint32_t>(number(value, where));
  else if (key == "cause")
    rule.cause = word(value, where, kCauses);
  else if (key == "whenArgvContains")
    rule.when_argv_contains = text(value, where);
  else if (key == "appearAfterLookups")
    rule.appear_after_lookups = number(value, where);
  else if (key == "appearAfterMs")
    rule.appear_after = std::chrono::milliseconds(number(value, where));
  else
    return false;
  return true;
}

void read_field(Rule& rule, std::string_view key, const json::value& value,
                const std::string& where) {
  if (read_program_field(rule, key, value, where)) return;
  if (key == "onCalls") {
    for (const json::value& call : list(value, where)) rule.on_calls.push_back(number(call, where));
  } else if (key == "delayMs")
    rule.delay = std::chrono::milliseconds(number(value, where));
  else if (key == "replyDelayMs")
    rule.reply_delay = std::chrono::milliseconds(number(value, where));
  else if (key == "outcome")
    rule.outcome = word(value, where, kClasses);
  else if (key == "code")
    rule.code = word(value, where, kCodes);
  else if (key == "message")
    rule.message = text(value, where);
  else if (key == "retryAfterMs")
    rule.retry_after_ms = number(value, where);
  else if (key == "reply")
    rule.reply = static_cast<Reply>(word(value, where, kReplies));
  else if (key == "effect")
    rule.effect = static_cast<Effect>(word(value, where, kEffects));
  else if (key == "crash")
    rule.crash = static_cast<Crash>(word(value, where, kCrashes));
  else if (key == "ignoreCancel")
    rule.ignore_cancel = value.is_bool() && value.get_bool();
  else if (key == "account")
    rule.account = text(value, where);
  else if (key == "name")
    rule.name = text(value, where);
  else if (key == "presence")
    rule.presence = word(value, where, kPresences);
  else
    refuse(where, "a field that the manifest's configSchema lists");
}

Rule read_rule(const json::value& value, const std::string& where) {
  Rule rule;
  for (const auto& [key, member] : object(value, where)) {
    read_field(rule, key, member, where + "." + std::string(key));
  }
  if (rule.signal != 0) {
    rule.exit_code = -1;
    if (rule.cause == BERTH_CAUSE_EXITED) rule.cause = BERTH_CAUSE_SIGNALLED;
  }
  if (rule.cause != BERTH_CAUSE_EXITED) rule.exit_code = -1;
  return rule;
}

}  // namespace

Script::Script(std::string_view config_json) {
  if (config_json.empty()) return;
  if (config_json.size() > kConfigBytesMax) refuse("the document", "at most 1 MiB");
  json::error_code wrong;
  const json::value document =
      json::parse(json::string_view(config_json.data(), config_json.size()), wrong);
  if (wrong) refuse("the document", "JSON");
  for (const auto& [key, value] : object(document, "the document")) {
    const std::string where(key);
    if (key == "account")
      account_ = text(value, where);
    else if (key == "state")
      keeps_files_ = word(value, where, std::array<std::string_view, 2>{"memory", "files"}) == 1;
    else if (key == "programs")
      runs_programs_ = word(value, where, std::array<std::string_view, 2>{"scripted", "host"}) == 1;
    else if (key == "slots") {
      for (const auto& [slot, rules] : object(value, where)) {
        const auto at = std::find(std::begin(kSlots), std::end(kSlots), std::string_view(slot));
        if (at == std::end(kSlots)) refuse("slots." + std::string(slot), "the name of a slot");
        auto& read = rules_[static_cast<std::size_t>(at - std::begin(kSlots))];
        for (const json::value& rule : list(rules, "slots." + std::string(slot)))
          read.push_back(read_rule(rule, "slots." + std::string(slot)));
      }
    } else {
      refuse(where, "a field that the manifest's configSchema lists");
    }
  }
}

const Rule& Script::next(Slot slot, const std::vector<std::string_view>& argv) {
  const auto index = static_cast<std::size_t>(slot);
  const std::uint64_t call = calls_[index].fetch_add(1, std::memory_order_relaxed) + 1;
  const auto fits = [&](const Rule& rule) {
    if (!rule.on_calls.empty() &&
        std::find(rule.on_calls.begin(), rule.on_calls.end(), call) == rule.on_calls.end())
      return false;
    return rule.when_argv_contains.empty() ||
           std::any_of(argv.begin(), argv.end(), [&](std::string_view argument) {
             return argument.find(rule.when_argv_contains) != std::string_view::npos;
           });
  };
  const auto& rules = rules_[index];
  const auto rule = std::find_if(rules.begin(), rules.end(), fits);
  return rule == rules.end() ? plain_ : *rule;
}

}  // namespace berth::reference
