#include "core/store/sqlite/new_intents.h"

#include <algorithm>
#include <utility>

#include "core/store/sqlite/row_cache.h"

namespace berth::sqlite {
namespace {

#define BERTH_LISTED_TO "(SELECT value FROM marks WHERE name = 'listed_to')"

std::string text_of(const CallKey& call) {
  return RowCache::key_of({call.owner, call.session, call.call});
}

NewIntents::Found single_number(Result<bool> row, Statement& statement) {
  BERTH_TRY(const bool found, row);
  if (!found) return std::optional<std::int64_t>();
  return std::optional(statement.next_integer());
}

}  // namespace

NewIntents::Found NewIntents::of_name(Connection& connection, std::string_view name) {
  BERTH_CHECK_OK(catch_up(connection));
  if (const auto found = names_.find(name); found != names_.end())
    return std::optional(found->second);
  BERTH_TRY(Statement find, connection.use("SELECT intent FROM intent_names WHERE name = ?"));
  return single_number(find.text(name).step(), find);
}

NewIntents::Found NewIntents::of_call(Connection& connection, const CallKey& call) {
  BERTH_CHECK_OK(catch_up(connection));
  if (const auto found = calls_.find(text_of(call)); found != calls_.end())
    return std::optional(found->second);
  BERTH_TRY(Statement find,
            connection.use("SELECT intent FROM intent_calls WHERE owner = ? AND session = ? AND "
                           "call = ?"));
  return single_number(find.text(call.owner).text(call.session).text(call.call).step(), find);
}

void NewIntents::inserted(const Intent& intent, std::int64_t seq) {
  know(intent.name, intent.key, seq);
}

void NewIntents::know(std::string name, const CallKey& call, std::int64_t seq) {
  names_.emplace(std::move(name), seq);
  calls_.emplace(text_of(call), seq);
  seen_to_ = seq;
}

void NewIntents::clear() {
  names_.clear();
  calls_.clear();
  seen_to_ = 0;
  up_to_date_ = false;
}

Status NewIntents::catch_up(Connection& connection) {
  if (up_to_date_) return {};
  BERTH_TRY(Statement mark, connection.use("SELECT " BERTH_LISTED_TO));
  BERTH_TRY([[maybe_unused]] const bool marked, mark.step());
  if (const std::int64_t listed_to = mark.next_integer(); listed_to > 0) {
    // Another connection may have listed some that are known here.
    const auto listed = [listed_to](const auto& entry) { return entry.second <= listed_to; };
    std::erase_if(names_, listed);
    std::erase_if(calls_, listed);
    seen_to_ = std::max(seen_to_, listed_to);
  }
  BERTH_TRY(Statement rows,
            connection.use("SELECT seq, name, owner, session, call FROM intents WHERE seq > ? "
                           "ORDER BY seq"));
  rows.integer(seen_to_);
  for (;;) {
    BERTH_TRY(const bool row, rows.step());
    if (!row) break;
    const std::int64_t seq = rows.next_integer();
    std::string name = rows.next_text();
    CallKey call;
    call.owner = rows.next_text();
    call.session = rows.next_text();
    call.call = rows.next_text();
    know(std::move(name), call, seq);
  }
  up_to_date_ = true;
  return {};
}

Status NewIntents::list_many(Connection& connection) {
  if (names_.size() < kUnlistedMax) return {};
  BERTH_CHECK_OK(catch_up(connection));
  // OR FAIL: see the journal's insert. Two intents of one name or call would end here at the latest.
  for (const Sql sql :
       {Sql("INSERT OR FAIL INTO intent_names SELECT name, seq FROM intents WHERE "
            "seq > " BERTH_LISTED_TO " AND seq <= ? ORDER BY name"),
        Sql("INSERT OR FAIL INTO intent_calls SELECT owner, session, call, seq FROM intents WHERE "
            "seq > " BERTH_LISTED_TO " AND seq <= ? ORDER BY owner, session, call"),
        Sql("UPDATE marks SET value = ? WHERE name = 'listed_to'")}) {
    BERTH_TRY(Statement step, connection.use(sql));
    BERTH_TRY([[maybe_unused]] const std::int64_t changed, step.integer(seen_to_).run());
  }
  names_.clear();
  calls_.clear();
  return {};
}

}  // namespace berth::sqlite
