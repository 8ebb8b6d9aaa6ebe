// Store: the durable memory of the lifecycle, as an interface. core/store implements it over
// SQLite; another database can follow. The simulator implements it in memory with faults.
//
// All logic lives above: a unit of work is a function over a Transaction, which only reads and
// writes rows. Units of concurrent calls are committed together (group commit): each runs in a
// savepoint of its own, in order of submission, and its submitter continues only after COMMIT has
// returned.
#ifndef BERTH_CORE_LIFECYCLE_STORE_H_
#define BERTH_CORE_LIFECYCLE_STORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/accounting/ledger.h"
#include "core/accounting/receipt.h"
#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/document_rows.h"
#include "core/lifecycle/intent.h"

namespace berth {

// Empty or absent fields do not restrict. Oldest first.
struct IntentFilter {
  std::string owner = {};
  std::string session = {};
  std::string provider_id = {};
  std::string name = {};
  bool unresolved_only = false;  // everything but RELEASED
  std::size_t count_max = 1000;
  bool newest = false;          // of more than count_max the last ones; they too come in order
  std::string after_name = {};  // paging: rows after this one in order
  // False: `result` stays empty, for lists. Such an intent must not be written back.
  bool with_results = true;
};

struct ReceiptFilter {
  std::string owner = {};
  std::string session = {};
  std::string provider_id = {};
  std::string name = {};
  std::optional<WallTime> from = {};   // recorded_at >= from
  std::optional<WallTime> until = {};  // recorded_at < until
  bool unknown_cost_only = false;
  std::size_t count_max = 1000;
  std::string after_name = {};
};

// Rows as they are inside one unit of work. Valid only during that unit; used on the store's own
// thread. Every error ends the unit: the savepoint is rolled back.
class Transaction {
 public:
  virtual ~Transaction() = default;

  virtual Result<std::optional<Intent>> intent(std::string_view name) = 0;
  // Of the stored intent, nothing without one. Asked before every change: a store that has it at hand
  // answers without the row; this default reads it.
  virtual Result<std::optional<std::uint64_t>> revision_of(std::string_view name);
  virtual Result<std::optional<Intent>> intent_of_call(const CallKey& key) = 0;
  virtual Result<std::vector<Intent>> intents(const IntentFilter& filter) = 0;
  // An unresolved intent of the provider whose scope is another one, if any. Asked by every
  // reservation: a store with an index answers it quickly; this default walks the open intents.
  virtual Result<std::optional<Intent>> unresolved_in_other_scope(std::string_view provider_id,
                                                                  const Scope& scope);
  // kConflict when the name or the call exists.
  virtual Status insert_intent(const Intent& intent) = 0;
  // The same, but false instead of the conflict: the unit goes on, and nothing was written. This
  // default looks first.
  virtual Result<bool> insert_new_intent(const Intent& intent);
  // Writes every field where the stored revision is `expected_revision`, and stores
  // intent.revision; kConflict when it is not.
  virtual Status update_intent(const Intent& intent, std::uint64_t expected_revision) = 0;

  // kNotFound when no intent has the name, as for insert_receipt.
  virtual Status append_journal(const JournalEntry& entry) = 0;
  // Several lines of one intent, in order. This default appends them one by one.
  virtual Status append_lines(std::string_view name, std::span<const JournalLine> lines);
  virtual Result<std::vector<JournalEntry>> journal(std::string_view name) = 0;

  virtual Result<std::optional<SessionRecord>> session(std::string_view owner,
                                                       std::string_view session) = 0;
  virtual Status put_session(const SessionRecord& session) = 0;

  virtual Result<std::optional<Receipt>> receipt(std::string_view name) = 0;
  virtual Result<std::vector<Receipt>> receipts(const ReceiptFilter& filter) = 0;
  // kConflict when one with this name exists.
  virtual Status insert_receipt(const Receipt& receipt) = 0;
  // Only from unknown cost to known, once; anything else is kConflict.
  virtual Status settle_receipt(const Receipt& receipt) = 0;

  // The provider that the application's new calls went to last; nothing: it has made none.
  virtual Result<std::optional<std::string>> selection(std::string_view application) = 0;
  virtual Status put_selection(std::string_view application, std::string_view provider_id) = 0;

  // The double-entry ledger of the credits adapter.
  virtual LedgerRows& ledger() = 0;
  // Saved documents, their revisions and runs.
  virtual DocumentRows& documents() = 0;
};

using UnitOfWork = std::function<Status(Transaction&)>;

class Store {
 public:
  virtual ~Store() = default;

  // Runs `work` and commits it. The work must own what it touches (by value or shared pointer): it
  // runs on another thread, possibly more than once before the commit. An error of the work itself
  // is returned as it is and nothing of it is kept. kUnknownOutcome: COMMIT failed, and what is
  // stored is not known until it is read again.
  virtual Task<Status> commit(UnitOfWork work) = 0;

  // Runs read-only `work` on a consistent snapshot.
  virtual Task<Status> read(UnitOfWork work) = 0;
};

// Tells whether the host that holds an intent still lives.
class HolderProbe {
 public:
  virtual ~HolderProbe() = default;
  // True when the holder's lock was taken, which proves that it is dead; the lock is then kept or
  // the holder is otherwise barred for ever. False: alive, or not to be told.
  virtual bool is_dead(const Holder& holder) = 0;

  // Who that is, for people, dead or alive. This default knows the host alone.
  virtual std::string describe(const Holder& holder) const;

  // Words are left beside the store for whoever settles an intent, by a host whose store did not take
  // how it ended, such as on a full disk. What cannot be left is lost. These defaults keep nothing.
  virtual void leave_word(std::string_view intent_name, std::string_view word);
  virtual std::optional<std::string> left_word(std::string_view intent_name) const;
  virtual std::vector<std::string> intents_with_words() const;
  virtual void drop_word(std::string_view intent_name);
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_STORE_H_
