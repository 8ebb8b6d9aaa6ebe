// Stored records as JSON, and reading them page by page.
#ifndef BERTH_TOOLS_BERTH_RECORDS_H_
#define BERTH_TOOLS_BERTH_RECORDS_H_

#include <boost/json/object.hpp>
#include <functional>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/store.h"

namespace berth::cli {

// Everything but the result document, which may be large; `has_result` says whether it is there.
boost::json::object to_json(const Intent& intent);
boost::json::object to_json(const JournalEntry& entry);

// Up to filter.count_max intents, oldest first.
Task<Result<std::vector<Intent>>> read_intents(Store& store, IntentFilter filter);
Task<Result<std::vector<JournalEntry>>> read_journal(Store& store, std::string name);
Task<Result<std::vector<Receipt>>> read_receipts(Store& store, ReceiptFilter filter);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_RECORDS_H_
