#include "tests/support/memory_store.h"

#include <algorithm>
#include <cstdint>

namespace berth::testing {
namespace {

std::string turn_key(std::string_view owner, std::string_view session, std::string_view turn) {
  std::string key(owner);
  key += '\0';
  key += session;
  key += '\0';
  key += turn;
  return key;
}

bool matches(const IntentFilter& filter, const Intent& intent) {
  return (filter.owner.empty() || filter.owner == intent.key.owner) &&
         (filter.session.empty() || filter.session == intent.key.session) &&
         (filter.provider_id.empty() || filter.provider_id == intent.provider_id) &&
         (filter.name.empty() || filter.name == intent.name) &&
         (!filter.unresolved_only || intent.state != IntentState::kReleased);
}

bool matches(const ReceiptFilter& filter, const Receipt& receipt) {
  return (filter.owner.empty() || filter.owner == receipt.owner) &&
         (filter.session.empty() || filter.session == receipt.session) &&
         (filter.provider_id.empty() || filter.provider_id == receipt.provider_id) &&
         (filter.name.empty() || filter.name == receipt.name) &&
         (!filter.from || receipt.recorded_at >= *filter.from) &&
         (!filter.until || receipt.recorded_at < *filter.until) &&
         (!filter.unknown_cost_only || !receipt.cost);
}

// Changes the rows at once and remembers how to undo it.
class MemoryTransaction final : public Transaction, public LedgerRows {
 public:
  explicit MemoryTransaction(MemoryRows& rows) : rows_(rows), documents_(rows.documents, undo_) {}

  void roll_back() {
    for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) (*undo)();
    undo_.clear();
  }
  const std::string& last_event() const { return last_event_; }

  Result<std::optional<Intent>> intent(std::string_view name) override {
    const auto found = rows_.intents.find(name);
    if (found == rows_.intents.end()) return std::nullopt;
    return found->second;
  }
  Result<std::optional<Intent>> intent_of_call(const CallKey& key) override {
    for (const auto& [name, intent] : rows_.intents) {
      if (intent.key == key) return intent;
    }
    return std::nullopt;
  }
  Result<std::vector<Intent>> intents(const IntentFilter& filter) override {
    std::vector<Intent> found;
    bool started = filter.after_name.empty();
    for (const std::string& name : rows_.order) {
      const Intent& intent = rows_.intents.find(name)->second;
      if (started && matches(filter, intent)) found.push_back(intent);
      if (name == filter.after_name) started = true;
    }
    const std::size_t over = found.size() - std::min(found.size(), filter.count_max);
    const auto keep = static_cast<std::ptrdiff_t>(found.size() - over);
    if (filter.newest) found.erase(found.begin(), found.end() - keep);
    else found.erase(found.begin() + keep, found.end());
    return found;
  }
  Status insert_intent(const Intent& intent) override {
    BERTH_TRY(const std::optional<Intent> same_call, intent_of_call(intent.key));
    if (same_call || rows_.intents.contains(intent.name))
      return fail(ErrorKind::kConflict, "intent '" + intent.name + "' or its call exists");
    rows_.intents.emplace(intent.name, intent);
    rows_.order.push_back(intent.name);
    undo_.push_back([this, name = intent.name] {
      rows_.intents.erase(name);
      rows_.order.pop_back();
    });
    return {};
  }
  Status update_intent(const Intent& intent, std::uint64_t expected_revision) override {
    const auto found = rows_.intents.find(intent.name);
    if (found == rows_.intents.end() || found->second.revision != expected_revision)
      return fail(ErrorKind::kConflict, "intent '" + intent.name + "' has another revision");
    undo_.push_back([&row = found->second, old = found->second] { row = old; });
    found->second = intent;
    return {};
  }

  Status append_journal(const JournalEntry& entry) override {
    rows_.journal.push_back(entry);
    last_event_ = entry.event;
    undo_.push_back([this] { rows_.journal.pop_back(); });
    return {};
  }
  Result<std::vector<JournalEntry>> journal(std::string_view name) override {
    std::vector<JournalEntry> found;
    std::copy_if(rows_.journal.begin(), rows_.journal.end(), std::back_inserter(found),
                 [name](const JournalEntry& entry) { return entry.name == name; });
    return found;
  }

  Result<std::optional<SessionRecord>> session(std::string_view owner,
                                               std::string_view session) override {
    const auto found = rows_.sessions.find({std::string(owner), std::string(session)});
    if (found == rows_.sessions.end()) return std::nullopt;
    return found->second;
  }
  Status put_session(const SessionRecord& session) override {
    const std::pair key(session.owner, session.session);
    const auto found = rows_.sessions.find(key);
    if (found == rows_.sessions.end()) {
      undo_.push_back([this, key] { rows_.sessions.erase(key); });
    } else {
      undo_.push_back([this, key, old = found->second] { rows_.sessions[key] = old; });
    }
    rows_.sessions[key] = session;
    return {};
  }

  Result<std::optional<std::string>> selection(std::string_view application) override {
    const auto found = rows_.selections.find(application);
    if (found == rows_.selections.end()) return std::nullopt;
    return found->second;
  }
  Status put_selection(std::string_view application, std::string_view provider_id) override {
    std::optional<std::string> old;
    const auto found = rows_.selections.find(application);
    if (found != rows_.selections.end()) old = found->second;
    undo_.push_back([this, key = std::string(application), old] {
      if (old) {
        rows_.selections[key] = *old;
      } else {
        rows_.selections.erase(key);
      }
    });
    rows_.selections.insert_or_assign(std::string(application), std::string(provider_id));
    return {};
  }

  Result<std::optional<Receipt>> receipt(std::string_view name) override {
    const auto found = rows_.receipts.find(name);
    if (found == rows_.receipts.end()) return std::nullopt;
    return found->second;
  }
  Result<std::vector<Receipt>> receipts(const ReceiptFilter& filter) override {
    std::vector<Receipt> found;
    bool started = filter.after_name.empty();
    for (const auto& [name, receipt] : rows_.receipts) {
      if (started && found.size() < filter.count_max && matches(filter, receipt))
        found.push_back(receipt);
      if (name == filter.after_name) started = true;
    }
    return found;
  }
  Status insert_receipt(const Receipt& receipt) override {
    if (!rows_.receipts.emplace(receipt.name, receipt).second)
      return fail(ErrorKind::kConflict, "receipt '" + receipt.name + "' exists");
    undo_.push_back([this, name = receipt.name] { rows_.receipts.erase(name); });
    return {};
  }
  Status settle_receipt(const Receipt& receipt) override {
    const auto found = rows_.receipts.find(receipt.name);
    const bool may = found != rows_.receipts.end() && !found->second.cost && receipt.cost &&
                     found->second.owner == receipt.owner;
    if (!may) return fail(ErrorKind::kConflict, "receipt '" + receipt.name + "' is settled");
    undo_.push_back([&row = found->second, old = found->second] { row = old; });
    found->second = receipt;
    return {};
  }

  LedgerRows& ledger() override { return *this; }
  DocumentRows& documents() override { return documents_; }
  Result<std::optional<Posting>> posting(std::string_view key) override {
    for (const Posting& posting : rows_.postings) {
      if (posting.key == key) return posting;
    }
    return std::nullopt;
  }
  Status insert_posting(const Posting& made) override {
    BERTH_TRY(const std::optional<Posting> earlier, posting(made.key));
    if (earlier) return fail(ErrorKind::kConflict, "posting '" + made.key + "' exists");
    rows_.postings.push_back(made);
    undo_.push_back([this] { rows_.postings.pop_back(); });
    return {};
  }
  Result<Money> balance(std::string_view account) override {
    Money sum;
    for (const Posting& posting : rows_.postings) {
      if (posting.to == account) sum += posting.amount;
      if (posting.from == account) sum += -posting.amount;
    }
    return sum;
  }
  Result<std::vector<Posting>> postings(std::string_view account, std::string_view after_key,
                                        std::size_t count_max) override {
    std::vector<Posting> found;
    bool started = after_key.empty();
    for (const Posting& posting : rows_.postings) {
      const bool of_account = posting.to == account || posting.from == account;
      if (started && of_account && found.size() < count_max) found.push_back(posting);
      if (posting.key == after_key) started = true;
    }
    return found;
  }
  Result<TurnTotals> turn(std::string_view owner, std::string_view session,
                          std::string_view turn) override {
    const auto found = rows_.turns.find(turn_key(owner, session, turn));
    return found == rows_.turns.end() ? TurnTotals{} : found->second;
  }
  Status put_turn(std::string_view owner, std::string_view session, std::string_view turn,
                  const TurnTotals& totals) override {
    TurnTotals& row = rows_.turns[turn_key(owner, session, turn)];
    undo_.push_back([&row, old = row] { row = old; });
    row = totals;
    return {};
  }
  Result<std::uint64_t> unknown_costs(std::string_view owner) override {
    std::uint64_t count = 0;
    for (const auto& [name, receipt] : rows_.receipts) {
      if (receipt.owner == owner && !receipt.cost) count += 1;
    }
    return count;
  }

 private:
  MemoryRows& rows_;
  std::string last_event_;
  std::vector<std::function<void()>> undo_;
  MemoryDocuments documents_;
};

}  // namespace

Status MemoryStore::run_commit(const UnitOfWork& work) {
  MemoryTransaction transaction(rows_);
  if (Status status = work(transaction); !status) {
    transaction.roll_back();
    return status;
  }
  const std::string event = transaction.last_event();
  switch (commit_fault ? commit_fault(event) : CommitFault::kNone) {
    case CommitFault::kNone:
      break;
    case CommitFault::kFailed:
      transaction.roll_back();
      return fail(ErrorKind::kUnavailable, "the store is down");
    case CommitFault::kUnknownLost:
      transaction.roll_back();
      return fail(ErrorKind::kUnknownOutcome, "the commit may have failed");
    case CommitFault::kUnknownKept:
      if (on_committed) on_committed(event);
      return fail(ErrorKind::kUnknownOutcome, "the commit may have failed");
  }
  if (on_committed) on_committed(event);
  return {};
}

Task<Status> MemoryStore::commit(UnitOfWork work) {
  return world_.perform<Status>(host_, [this, work = std::move(work)] { return run_commit(work); });
}

Task<Status> MemoryStore::read(UnitOfWork work) {
  return world_.perform<Status>(host_, [this, work = std::move(work)]() -> Status {
    if (read_fails && read_fails()) return fail(ErrorKind::kUnavailable, "the store is down");
    MemoryTransaction transaction(rows_);
    return work(transaction);
  });
}

}  // namespace berth::testing
