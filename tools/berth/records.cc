#include "tools/berth/records.h"

#include <memory>
#include <string>
#include <utility>

namespace berth::cli {
namespace {

// Runs `get` on a snapshot and brings its value back; the unit of work owns where it goes.
template <class T>
Task<Result<T>> read_value(Store& store, std::function<Result<T>(Transaction&)> get) {
  auto found = std::make_shared<T>();
  UnitOfWork work = [found, get](Transaction& transaction) -> Status {
    BERTH_TRY(*found, get(transaction));
    return {};
  };
  const Status done = co_await store.read(std::move(work));
  if (!done) co_return fail(done.error());
  co_return std::move(*found);
}

}  // namespace

boost::json::object to_json(const Intent& intent) {
  boost::json::object scope;
  for (const auto& [field, value] : intent.scope) scope[field] = value;
  boost::json::object out;
  out["name"] = intent.name;
  out["state"] = to_string(intent.state);
  out["owner"] = intent.key.owner;
  out["session"] = intent.key.session;
  out["call"] = intent.key.call;
  out["turn"] = intent.turn;
  out["provider"] = intent.provider_id;
  out["provider_version"] = intent.provider_version;
  out["provider_digest"] = intent.provider_digest;
  out["spec_digest"] = intent.spec_digest;
  out["scope"] = std::move(scope);
  out["holder"] = boost::json::object{{"boot_id", intent.holder.boot_id},
                                      {"host_id", intent.holder.host_id}};
  out["dispatched"] = intent.dispatched;
  out["cancel_requested"] = intent.cancel_requested;
  out["ref"] = intent.ref;
  out["has_result"] = intent.result.has_value();
  out["result_expired"] = intent.result_expired;
  out["created_at"] = to_rfc3339(intent.created_at);
  out["updated_at"] = to_rfc3339(intent.updated_at);
  out["cleanup_attempts"] = intent.cleanup_attempts;
  out["last_stage"] = intent.last_stage;
  out["last_error"] = intent.last_error;
  return out;
}

boost::json::object to_json(const JournalEntry& entry) {
  boost::json::object out;
  out["at"] = to_rfc3339(entry.at);
  out["event"] = entry.event;
  out["from"] = to_string(entry.from);
  out["to"] = to_string(entry.to);
  out["evidence"] = entry.evidence;
  return out;
}

Task<Result<std::vector<Intent>>> read_intents(Store& store, IntentFilter filter) {
  return read_value<std::vector<Intent>>(
      store, [filter = std::move(filter)](Transaction& rows) { return rows.intents(filter); });
}

Task<Result<std::vector<JournalEntry>>> read_journal(Store& store, std::string name) {
  return read_value<std::vector<JournalEntry>>(
      store, [name = std::move(name)](Transaction& rows) { return rows.journal(name); });
}

Task<Result<std::vector<Receipt>>> read_receipts(Store& store, ReceiptFilter filter) {
  return read_value<std::vector<Receipt>>(
      store, [filter = std::move(filter)](Transaction& rows) { return rows.receipts(filter); });
}

}  // namespace berth::cli
