#include "core/store/sqlite/new_names.h"

#include <utility>

namespace berth::sqlite {
namespace {

#define BERTH_LISTED_TO "(SELECT value FROM marks WHERE name = 'names_listed_to')"

}  // namespace

Result<std::optional<std::int64_t>> find_listed(Connection& connection, std::string_view name) {
  BERTH_TRY(Statement find, connection.use("SELECT intent FROM intent_names WHERE name = ?"));
  BERTH_TRY(const bool row, find.text(name).step());
  if (!row) return std::optional<std::int64_t>();
  return std::optional(find.next_integer());
}

Result<std::optional<std::int64_t>> find_unlisted(Connection& connection, std::string_view name) {
  BERTH_TRY(
      Statement find,
      connection.use("SELECT seq FROM intents WHERE seq > " BERTH_LISTED_TO " AND name = ?"));
  BERTH_TRY(const bool row, find.text(name).step());
  if (!row) return std::optional<std::int64_t>();
  return std::optional(find.next_integer());
}

Result<std::optional<std::int64_t>> NewNames::find(Connection& connection, std::string_view name) {
  BERTH_CHECK_OK(catch_up(connection));
  const auto found = names_.find(name);
  if (found == names_.end()) return std::optional<std::int64_t>();
  return std::optional(found->second);
}

void NewNames::inserted(std::string_view name, std::int64_t seq) {
  names_.emplace(name, seq);
  seen_to_ = seq;
}

void NewNames::clear() {
  names_.clear();
  loaded_ = false;
  up_to_date_ = false;
}

// Intents are never deleted and never change their names, so those that are known stay true.
Status NewNames::catch_up(Connection& connection) {
  if (up_to_date_) return {};
  if (!loaded_) {
    BERTH_TRY(Statement mark, connection.use("SELECT " BERTH_LISTED_TO));
    BERTH_TRY([[maybe_unused]] const bool row, mark.step());
    seen_to_ = mark.next_integer();
    loaded_ = true;
  }
  BERTH_TRY(Statement rows,
            connection.use("SELECT seq, name FROM intents WHERE seq > ? ORDER BY seq"));
  rows.integer(seen_to_);
  for (;;) {
    BERTH_TRY(const bool row, rows.step());
    if (!row) break;
    const std::int64_t seq = rows.next_integer();
    inserted(rows.next_text(), seq);
  }
  up_to_date_ = true;
  return {};
}

Status NewNames::list_many(Connection& connection) {
  if (names_.size() < kUnlistedMax) return {};
  BERTH_CHECK_OK(catch_up(connection));
  // Another process may have listed some of them meanwhile. OR FAIL: see the journal's insert.
  BERTH_TRY(Statement list,
            connection.use("INSERT OR FAIL INTO intent_names SELECT name, seq FROM intents WHERE "
                           "seq > " BERTH_LISTED_TO " AND seq <= ? ORDER BY name"));
  BERTH_TRY([[maybe_unused]] const std::int64_t listed, list.integer(seen_to_).run());
  BERTH_TRY(Statement mark,
            connection.use("UPDATE marks SET value = ? WHERE name = 'names_listed_to'"));
  BERTH_TRY([[maybe_unused]] const std::int64_t marked, mark.integer(seen_to_).run());
  names_.clear();
  return {};
}

}  // namespace berth::sqlite
