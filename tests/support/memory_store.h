// MemoryStore: the store's interface over plain maps, with faults a test can choose. Several hosts
// may share one set of rows.
#ifndef BERTH_TESTS_SUPPORT_MEMORY_STORE_H_
#define BERTH_TESTS_SUPPORT_MEMORY_STORE_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/lifecycle/store.h"
#include "tests/support/memory_documents.h"
#include "tests/support/world.h"

namespace berth::testing {

// What is durable.
struct MemoryRows {
  std::map<std::string, Intent, std::less<>> intents;
  std::vector<std::string> order;  // names, oldest first
  std::vector<JournalEntry> journal;
  std::map<std::pair<std::string, std::string>, SessionRecord> sessions;
  std::map<std::string, std::string, std::less<>> selections;
  std::map<std::string, Receipt, std::less<>> receipts;
  std::vector<Posting> postings;
  std::map<std::string, TurnTotals> turns;
  MemoryDocumentRows documents;
};

// What becomes of a commit whose unit of work succeeded.
enum class CommitFault {
  kNone,
  kFailed,       // nothing is written, and the caller knows
  kUnknownLost,  // nothing is written, and the caller does not know
  kUnknownKept,  // written, and the caller does not know
};

class MemoryStore : public Store {
 public:
  // Asked once for each commit, with the journal's last new event ("reserve", "confirm", ...),
  // empty when it wrote none, before it is decided.
  using FaultOf = std::function<CommitFault(const std::string& event)>;

  MemoryStore(World& world, int host, MemoryRows& rows) : world_(world), host_(host), rows_(rows) {}

  Task<Status> commit(UnitOfWork work) override;
  Task<Status> read(UnitOfWork work) override;

  FaultOf commit_fault;              // empty: none
  std::function<bool()> read_fails;  // empty: never
  std::function<void(const std::string& event)> on_committed;

 private:
  Status run_commit(const UnitOfWork& work);

  World& world_;
  int host_;
  MemoryRows& rows_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_SUPPORT_MEMORY_STORE_H_
