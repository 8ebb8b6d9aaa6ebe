// SqliteTransaction: the rows of one unit of work.
#ifndef BERTH_CORE_STORE_SQLITE_TRANSACTION_H_
#define BERTH_CORE_STORE_SQLITE_TRANSACTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifecycle/store.h"
#include "core/store/sqlite/connection.h"
#include "core/store/sqlite/new_intents.h"
#include "core/store/sqlite/row_cache.h"

namespace berth::sqlite {

// Lives inside an open transaction of `connection`, on the connection's thread, for one unit.
class SqliteTransaction final : public Transaction, private LedgerRows, private DocumentRows {
 public:
  enum class Kind {
    kRead,       // writing is refused
    kPlain,      // whoever opened the transaction rolls it back when a unit that wrote fails
    kSavepoint,  // a savepoint is set before the first write, and undoes this unit alone
  };
  // `cache` and `unlisted` are of this connection and know what its open transaction sees.
  SqliteTransaction(Connection& connection, RowCache& cache, NewIntents& unlisted, Kind kind)
      : connection_(connection), cache_(cache), unlisted_(unlisted), kind_(kind) {}

  // Runs the unit and settles its savepoint. An error of the unit, also one that the work
  // swallowed, leaves nothing of it behind.
  Status run(const UnitOfWork& work);
  // True when a failed unit left something behind: the whole transaction must be rolled back.
  bool must_roll_back() const { return must_roll_back_; }

  Result<std::optional<Intent>> intent(std::string_view name) override;
  Result<std::optional<std::uint64_t>> revision_of(std::string_view name) override;
  Result<std::optional<Intent>> intent_of_call(const CallKey& key) override;
  Result<std::vector<Intent>> intents(const IntentFilter& filter) override;
  Result<std::optional<Intent>> unresolved_in_other_scope(std::string_view provider_id,
                                                          const Scope& scope) override;
  Status insert_intent(const Intent& intent) override;
  Result<bool> insert_new_intent(const Intent& intent) override;
  Status update_intent(const Intent& intent, std::uint64_t expected_revision) override;

  Status append_journal(const JournalEntry& entry) override;
  Status append_lines(std::string_view name, std::span<const JournalLine> lines) override;
  Result<std::vector<JournalEntry>> journal(std::string_view name) override;

  Result<std::optional<SessionRecord>> session(std::string_view owner,
                                               std::string_view session) override;
  Status put_session(const SessionRecord& session) override;

  Result<std::optional<Receipt>> receipt(std::string_view name) override;
  Result<std::vector<Receipt>> receipts(const ReceiptFilter& filter) override;
  Status insert_receipt(const Receipt& receipt) override;
  Status settle_receipt(const Receipt& receipt) override;

  Result<std::optional<std::string>> selection(std::string_view application) override;
  Status put_selection(std::string_view application, std::string_view provider_id) override;

  LedgerRows& ledger() override { return *this; }
  DocumentRows& documents() override { return *this; }

  // How many results were dropped; their intents say that they have expired.
  Result<std::int64_t> expire_results(WallTime before, std::size_t count_max);

 private:
  Result<std::optional<Posting>> posting(std::string_view key) override;
  Status insert_posting(const Posting& posting) override;
  Result<Money> balance(std::string_view account) override;
  Result<std::vector<Posting>> postings(std::string_view account, std::string_view after_key,
                                        std::size_t count_max) override;
  Result<TurnTotals> turn(std::string_view owner, std::string_view session,
                          std::string_view turn) override;
  Status put_turn(std::string_view owner, std::string_view session, std::string_view turn,
                  const TurnTotals& totals) override;
  Result<std::uint64_t> unknown_costs(std::string_view owner) override;

  Result<std::optional<SavedDocument>> document(std::string_view owner, std::string_view session,
                                                std::string_view id) override;
  Result<std::vector<SavedDocument>> documents(const DocumentFilter& filter) override;
  Result<std::uint64_t> document_count(std::string_view owner, std::string_view session) override;
  Status insert_document(const SavedDocument& document) override;
  Result<std::optional<DocumentRevision>> revision(std::string_view document_id,
                                                   std::string_view revision_id) override;
  Result<std::optional<DocumentRevision>> latest_revision(std::string_view document_id) override;
  Result<std::vector<DocumentRevision>> revisions(std::string_view document_id,
                                                  std::uint32_t after_number,
                                                  std::size_t count_max) override;
  Status insert_revision(const DocumentRevision& revision) override;
  Result<std::optional<DocumentRun>> run_of_call(const CallKey& key) override;
  Result<std::vector<DocumentRun>> runs(std::string_view revision_id,
                                        std::size_t count_max) override;
  Status insert_run(const DocumentRun& run) override;

  // Called by every method before it writes.
  Status begin_write();
  // Remembers the first error of the unit, then passes the value on.
  template <class T>
  Result<T> noted(Result<T> result) {
    if (!result && !failed_) failed_ = result.error();
    return result;
  }

  Result<std::optional<std::int64_t>> seq_of(std::string_view name);
  // The stored intent with its number, from the cache or the file; null without one.
  Result<const RowCache::Entry*> load(std::string_view name);
  // The same, but kNotFound without one.
  Result<const RowCache::Entry*> need(std::string_view name);
  RowCache::Entry* known(std::string_view name);
  // The stored intent of that number, read from the file.
  Result<RowCache::Entry> row_of(std::int64_t seq);
  Result<RowCache::Entry> entry_row(Statement& row);
  // The numbers of the rows that the intent shares with others; they are made when they are new.
  Result<std::int64_t> place_of(const Intent& intent);
  Result<std::int64_t> holder_of(const Intent& intent);
  Result<std::optional<Intent>> find_of_call(const CallKey& key);
  Result<std::optional<Intent>> find_in_other_scope(std::string_view provider_id,
                                                    const Scope& scope);
  Result<std::optional<SessionRecord>> find_session(std::string_view owner,
                                                    std::string_view session);
  Result<std::vector<Intent>> list_intents(const IntentFilter& filter);
  Result<std::vector<Receipt>> list_receipts(const ReceiptFilter& filter);
  // False: its name or its call exists, and nothing was written.
  Result<bool> write_intent(const Intent& intent);
  Status rewrite_intent(const Intent& intent, std::uint64_t expected_revision);
  Status rewrite_identity(const Intent& intent, std::int64_t seq);
  Status write_journal(std::string_view name, std::span<const JournalLine> lines);
  Result<std::int64_t> journal_length(const RowCache::Entry& intent);
  Status write_session(const SessionRecord& session);
  Result<std::optional<std::string>> find_selection(std::string_view application);
  Status write_selection(std::string_view application, std::string_view provider_id);
  Status write_receipt(const Receipt& receipt);
  Status rewrite_receipt(const Receipt& receipt);
  Status write_posting(const Posting& posting);
  Status add_to_account(std::string_view account, Money amount);
  Result<std::vector<std::string>> names_to_expire(std::int64_t after, WallTime before,
                                                   std::size_t count_max);
  Result<std::int64_t> drop_results(WallTime before, std::size_t count_max);
  Result<std::int64_t> integer_of(Sql sql);

  Connection& connection_;
  RowCache& cache_;
  NewIntents& unlisted_;
  Kind kind_;
  bool wrote_ = false;
  bool savepoint_ = false;
  bool must_roll_back_ = false;
  std::optional<Error> failed_;
  // The last intent read that is not for the cache: released, or with a result.
  std::optional<RowCache::Entry> last_;
};

}  // namespace berth::sqlite

#endif  // BERTH_CORE_STORE_SQLITE_TRANSACTION_H_
