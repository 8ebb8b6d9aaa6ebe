// SqliteTransaction: the rows of one unit of work.
#ifndef BERTH_CORE_STORE_SQLITE_TRANSACTION_H_
#define BERTH_CORE_STORE_SQLITE_TRANSACTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifecycle/store.h"
#include "core/store/sqlite/connection.h"

namespace berth::sqlite {

// Lives inside an open transaction of `connection`, on the connection's thread, for one unit.
class SqliteTransaction final : public Transaction, private LedgerRows {
 public:
  enum class Kind {
    kRead,       // writing is refused
    kWhole,      // the unit is the whole transaction: who opened it rolls back
    kSavepoint,  // one of several: a savepoint is set before the first write
  };
  SqliteTransaction(Connection& connection, Kind kind) : connection_(connection), kind_(kind) {}

  // Runs the unit and settles its savepoint. An error of the unit, also one that the work swallowed,
  // leaves nothing of it behind.
  Status run(const UnitOfWork& work);
  // True when the savepoint could not be settled: the whole transaction must be rolled back.
  bool broken() const { return broken_; }

  Result<std::optional<Intent>> intent(std::string_view name) override;
  Result<std::optional<Intent>> intent_of_call(const CallKey& key) override;
  Result<std::vector<Intent>> intents(const IntentFilter& filter) override;
  Result<std::optional<Intent>> unresolved_in_other_scope(std::string_view provider_id,
                                                          const Scope& scope) override;
  Status insert_intent(const Intent& intent) override;
  Status update_intent(const Intent& intent, std::uint64_t expected_revision) override;

  Status append_journal(const JournalEntry& entry) override;
  Result<std::vector<JournalEntry>> journal(std::string_view name) override;

  Result<std::optional<SessionRecord>> session(std::string_view owner,
                                               std::string_view session) override;
  Status put_session(const SessionRecord& session) override;

  Result<std::optional<Receipt>> receipt(std::string_view name) override;
  Result<std::vector<Receipt>> receipts(const ReceiptFilter& filter) override;
  Status insert_receipt(const Receipt& receipt) override;
  Status settle_receipt(const Receipt& receipt) override;

  LedgerRows& ledger() override { return *this; }

  // How many results were dropped; their intents say that they have expired.
  Result<std::int64_t> expire_results(WallTime before, std::size_t count_max);

 private:
  Result<std::optional<Posting>> posting(std::string_view key) override;
  Status insert_posting(const Posting& posting) override;
  Result<Money> balance(std::string_view account) override;
  Result<std::vector<Posting>> postings(std::string_view account, std::size_t count_max) override;
  Result<TurnTotals> turn(std::string_view owner, std::string_view session,
                          std::string_view turn) override;
  Status put_turn(std::string_view owner, std::string_view session, std::string_view turn,
                  const TurnTotals& totals) override;
  Result<std::uint64_t> unknown_costs(std::string_view owner) override;

  // Called by every method before it writes.
  Status begin_write();
  // Remembers the first error of the unit, then passes the value on.
  template <class T>
  Result<T> noted(Result<T> result) {
    if (!result && !failed_) failed_ = result.error();
    return result;
  }

  Result<std::optional<Intent>> one_intent(Statement& statement);
  Result<Intent> intent_row(Statement& row);
  Result<std::vector<Intent>> list_intents(const IntentFilter& filter);
  Result<std::vector<Receipt>> list_receipts(const ReceiptFilter& filter);
  // kNotFound without such an intent.
  Result<std::int64_t> seq_of(std::string_view name);
  Status put_result(std::int64_t seq, const std::optional<std::string>& document);
  Status write_intent(const Intent& intent);
  Status rewrite_intent(const Intent& intent, std::uint64_t expected_revision);
  Status write_journal(const JournalEntry& entry);
  Status write_receipt(const Receipt& receipt);
  Status rewrite_receipt(const Receipt& receipt);
  Status write_posting(const Posting& posting);
  Status add_to_account(std::string_view account, Money amount);
  Result<std::int64_t> drop_results(WallTime before, std::size_t count_max);

  Connection& connection_;
  Kind kind_;
  bool savepoint_ = false;
  bool broken_ = false;
  std::optional<Error> failed_;
  // The number of the intent this unit last touched: a unit writes several rows of one intent.
  std::string seq_name_;
  std::int64_t seq_ = 0;
};

}  // namespace berth::sqlite

#endif  // BERTH_CORE_STORE_SQLITE_TRANSACTION_H_
