#include "tests/simulation/invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/ids.h"

namespace berth::simulation {
namespace {

using testing::Slot;

struct Step {
  IntentState from;
  IntentState to;
  std::string_view event;
};

// The legal steps, written down a second time: the table under test is not asked.
constexpr std::array kLegal = {
    Step{IntentState::kIntended, IntentState::kIntended, "reserve"},
    Step{IntentState::kIntended, IntentState::kDispatched, "dispatch"},
    Step{IntentState::kIntended, IntentState::kReleased, "cancel"},
    Step{IntentState::kIntended, IntentState::kReleased, "refuse"},
    Step{IntentState::kIntended, IntentState::kReleased, "recover"},
    Step{IntentState::kDispatched, IntentState::kDispatched, "cancel"},
    Step{IntentState::kDispatched, IntentState::kCreated, "create_done"},
    Step{IntentState::kDispatched, IntentState::kCleaning, "create_done"},
    Step{IntentState::kDispatched, IntentState::kUncertain, "create_done"},
    Step{IntentState::kDispatched, IntentState::kCleaning, "create_failed_dirty"},
    Step{IntentState::kDispatched, IntentState::kReleased, "create_rejected"},
    Step{IntentState::kDispatched, IntentState::kReleased, "create_failed_clean"},
    Step{IntentState::kDispatched, IntentState::kUncertain, "create_uncertain"},
    Step{IntentState::kDispatched, IntentState::kUncertain, "recover"},
    Step{IntentState::kCreated, IntentState::kRunning, "run"},
    Step{IntentState::kCreated, IntentState::kCleaning, "finish"},
    Step{IntentState::kCreated, IntentState::kCleaning, "cancel"},
    Step{IntentState::kCreated, IntentState::kCleaning, "recover"},
    Step{IntentState::kRunning, IntentState::kCleaning, "finish"},
    Step{IntentState::kRunning, IntentState::kCleaning, "cancel"},
    Step{IntentState::kRunning, IntentState::kCleaning, "recover"},
    Step{IntentState::kCleaning, IntentState::kCleaning, "delete_failed"},
    Step{IntentState::kCleaning, IntentState::kCleaning, "recover"},
    Step{IntentState::kCleaning, IntentState::kReleased, "delete_confirmed"},
    Step{IntentState::kUncertain, IntentState::kUncertain, "recover"},
    Step{IntentState::kUncertain, IntentState::kUncertain, "inconclusive"},
    Step{IntentState::kUncertain, IntentState::kUncertain, "found"},
    Step{IntentState::kUncertain, IntentState::kCleaning, "found"},
    Step{IntentState::kUncertain, IntentState::kCleaning, "established_present"},
    Step{IntentState::kUncertain, IntentState::kReleased, "fenced"},
    Step{IntentState::kUncertain, IntentState::kReleased, "established_absent"},
    Step{IntentState::kReleased, IntentState::kReleased, "expire"},
};

bool is_legal(const JournalEntry& entry) {
  if (entry.event == "late_answer") return entry.from == entry.to;
  return std::any_of(kLegal.begin(), kLegal.end(), [&entry](const Step& step) {
    return step.from == entry.from && step.to == entry.to && step.event == entry.event;
  });
}

std::optional<EventKind> event_from(std::string_view text) {
  for (std::size_t i = 0; i < kEventKindCount; ++i) {
    if (to_string(static_cast<EventKind>(i)) == text) return static_cast<EventKind>(i);
  }
  return std::nullopt;
}

}  // namespace

void Invariants::check() {
  check_journal();
  for (const auto& [name, intent] : rows_.intents) check_intent(intent);
  for (const auto& [name, receipt] : rows_.receipts) check_receipt(receipt);
  for (const auto& [name, count] : cloud_.creates_asked) {
    if (count > 1) violate(fmt::format("'{}' was created twice", name));
  }
  for (const auto& [name, count] : cloud_.deletes_in_flight) {
    if (count > 1) violate(fmt::format("{} deletes of '{}' are in flight", count, name));
  }
  for (const auto& [key, session] : rows_.sessions) {
    if (session.state != SessionState::kRetired) continue;
    for (const auto& [name, intent] : rows_.intents) {
      if (intent.key.owner == session.owner && intent.key.session == session.session &&
          intent.state != IntentState::kReleased)
        violate(fmt::format("session '{}' is retired and '{}' is open", session.session, name));
    }
  }
  check_ledger();
}

void Invariants::check_journal() {
  for (; journal_checked_ < rows_.journal.size(); ++journal_checked_) {
    const JournalEntry& entry = rows_.journal[journal_checked_];
    const auto known = states_.find(entry.name);
    const IntentState before = known == states_.end() ? entry.from : known->second;
    if (!is_legal(entry))
      violate(fmt::format("'{}' went from {} to {} by {}", entry.name, to_string(entry.from),
                          to_string(entry.to), entry.event));
    if (entry.event != "late_answer" && entry.from != before)
      violate(fmt::format("the journal of '{}' says {} where it was {}", entry.name,
                          to_string(entry.from), to_string(before)));
    if (entry.event.starts_with("established") && is_blank(entry.evidence))
      violate(fmt::format("'{}' was settled without evidence", entry.name));
    states_[entry.name] = entry.to;
    if (const auto kind = event_from(entry.event)) coverage_.hit(entry.from, *kind);
  }
}

void Invariants::check_intent(const Intent& intent) {
  const auto receipt = rows_.receipts.find(intent.name);
  const bool has_receipt = receipt != rows_.receipts.end();
  switch (intent.state) {
    case IntentState::kReleased:
      if (cloud_.may_exist(intent.name))
        violate(fmt::format("'{}' is released and may exist", intent.name));
      if (!has_receipt) violate(fmt::format("'{}' ended without a receipt", intent.name));
      if (has_receipt && !receipt->second.cost)
        violate(fmt::format("'{}' ended at an unknown cost", intent.name));
      break;
    case IntentState::kUncertain:
      if (!has_receipt)
        violate(fmt::format("'{}' is uncertain without a suspense entry", intent.name));
      if (has_receipt && receipt->second.cost)
        violate(fmt::format("'{}' is uncertain at a known cost", intent.name));
      break;
    case IntentState::kIntended:
    case IntentState::kDispatched:
    case IntentState::kCreated:
    case IntentState::kRunning:
      if (has_receipt) violate(fmt::format("'{}' has a receipt before its end", intent.name));
      break;
    case IntentState::kCleaning:
      break;
  }
}

void Invariants::check_receipt(const Receipt& receipt) {
  const auto intent = rows_.intents.find(receipt.name);
  if (intent == rows_.intents.end()) {
    violate(fmt::format("receipt '{}' belongs to no intent", receipt.name));
    return;
  }
  if (!receipt.cost || receipt.cost->micros() == 0) return;
  if (!completed.contains(receipt.name) || receipt.settlement != Settlement::kCompleted)
    violate(fmt::format("'{}' was charged and did not complete", receipt.name));
  if (intent->second.state != IntentState::kReleased)
    violate(fmt::format("'{}' was charged before its cleanup", receipt.name));
}

void Invariants::check_ledger() {
  Money sum;
  Money used;
  Money debited;
  for (const Posting& posting : rows_.postings) {
    sum += posting.amount;
    sum += -posting.amount;
    if (posting.to == "usage") debited += posting.amount;
  }
  for (const auto& [turn, totals] : rows_.turns) {
    used += totals.used;
    const std::int64_t over = totals.debited.micros() - totals.used.micros();
    if (over < 0 || over >= 10'000)
      violate("a turn's debit is not its usage rounded up to the cent");
    debited += -totals.debited;
  }
  Money charged;
  for (const auto& [name, receipt] : rows_.receipts) charged += receipt.cost.value_or(Money{});
  if (sum != Money{} || debited != Money{}) violate("the ledger does not sum to zero");
  if (charged != used) violate("what the receipts say is not what the turns have used");
}

void Invariants::check_new_intent(const Intent& intent) {
  const auto session = rows_.sessions.find({intent.key.owner, intent.key.session});
  if (session != rows_.sessions.end() && session->second.state != SessionState::kOpen)
    violate(fmt::format("'{}' was reserved in a session that retires", intent.name));
  for (const auto& [name, other] : rows_.intents) {
    if (name != intent.name && other.state != IntentState::kReleased && other.scope != intent.scope)
      violate(
          fmt::format("'{}' was reserved while '{}' is open in another scope", intent.name, name));
    if (name != intent.name && other.key == intent.key)
      violate(fmt::format("call '{}' has two intents", intent.key.call));
  }
}

void Invariants::check_commit(const std::string& host_lock) {
  for (const auto& [name, intent] : rows_.intents) {
    const auto [seen, is_new] = seen_.try_emplace(name);
    if (is_new) check_new_intent(intent);
    const std::string& holder = seen->second.holder_lock;
    const bool touched = !is_new && seen->second.revision != intent.revision;
    if (touched && !holder.empty() && holder != host_lock && holders_.living.contains(holder))
      violate(fmt::format("'{}' is held by the living '{}' and was touched by '{}'", name, holder,
                          host_lock));
    seen->second = {intent.holder.lock_path, intent.revision};
  }
}

void Invariants::check_ask(Slot slot, const std::string& name, const std::string& host_lock,
                           const Scope& scope) {
  if (slot == Slot::kScope || slot == Slot::kList) return;
  const auto found = rows_.intents.find(name);
  if (found == rows_.intents.end())
    return violate(fmt::format("{} of '{}', which no intent names", to_string(slot), name));
  const Intent& intent = found->second;
  if (intent.scope != scope)
    violate(fmt::format("{} of '{}' in another scope", to_string(slot), name));
  if (intent.holder.lock_path != host_lock)
    violate(fmt::format("{} of '{}' by a host that does not hold it", to_string(slot), name));
  switch (slot) {
    case Slot::kCreate:
      if (intent.state != IntentState::kDispatched || !intent.dispatched)
        violate(fmt::format("create of '{}' without its dispatch", name));
      break;
    case Slot::kRun:
    case Slot::kPutFile:
    case Slot::kGetFile:
      if (intent.state != IntentState::kCreated)
        violate(fmt::format("source of '{}' ran before the confirmation", name));
      if (!cloud_.resources.contains(name))
        violate(fmt::format("source of '{}' ran in a sandbox that is not its own", name));
      if (tainted.contains(name))
        violate(fmt::format("'{}' was used after a lost operation", name));
      break;
    case Slot::kLookup:
    case Slot::kFence:
      if (intent.state != IntentState::kUncertain)
        violate(
            fmt::format("{} of '{}', which is {}", to_string(slot), name, to_string(intent.state)));
      break;
    case Slot::kDestroy:
      if (intent.state == IntentState::kUncertain || intent.state == IntentState::kReleased ||
          intent.state == IntentState::kIntended)
        violate(
            fmt::format("'{}' was deleted by a guess: it is {}", name, to_string(intent.state)));
      break;
    case Slot::kScope:
    case Slot::kList:
      break;
  }
}

void Invariants::check_end() {
  for (const auto& [name, intent] : rows_.intents) {
    if (intent.state != IntentState::kReleased)
      violate(fmt::format("'{}' is still {} when everything has healed ({})", name,
                          to_string(intent.state), intent.last_error));
    if (cloud_.alive(name)) violate(fmt::format("'{}' is left over", name));
  }
  if (rows_.receipts.size() != rows_.intents.size()) violate("not every intent has its receipt");
}

}  // namespace berth::simulation
