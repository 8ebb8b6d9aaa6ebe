#include <fmt/format.h>

#include <limits>
#include <utility>

#include "core/store/sqlite/transaction.h"

namespace berth::sqlite {

Result<std::optional<Posting>> SqliteTransaction::posting(std::string_view key) {
  return noted([&]() -> Result<std::optional<Posting>> {
    BERTH_TRY(Statement find,
              connection_.use("SELECT source, target, amount, memo, at FROM postings "
                              "WHERE key = ?"));
    BERTH_TRY(const bool row, find.text(key).step());
    if (!row) return std::optional<Posting>();
    Posting posting;
    posting.key = key;
    posting.from = find.next_text();
    posting.to = find.next_text();
    posting.amount = Money::micros(find.next_integer());
    posting.memo = find.next_text();
    posting.at = wall_time_from_unix_ms(find.next_integer());
    return std::optional<Posting>(std::move(posting));
  }());
}

Status SqliteTransaction::insert_posting(const Posting& posting) {
  return noted(write_posting(posting));
}

Status SqliteTransaction::write_posting(const Posting& posting) {
  BERTH_CHECK_OK(begin_write());
  if (posting.amount.micros() == std::numeric_limits<std::int64_t>::min())
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("posting {} has an amount that has no opposite", posting.key));
  BERTH_TRY(Statement insert,
            connection_.use("INSERT INTO postings (key, source, target, amount, memo, at) VALUES "
                            "(?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"));
  insert.text(posting.key).text(posting.from).text(posting.to).integer(posting.amount.micros());
  BERTH_TRY(const std::int64_t changed,
            insert.text(posting.memo).integer(unix_ms(posting.at)).run());
  if (changed != 1)
    return fail(ErrorKind::kConflict, fmt::format("posting {} exists already", posting.key));
  BERTH_CHECK_OK(add_to_account(posting.from, -posting.amount));
  return add_to_account(posting.to, posting.amount);
}

// A sum beyond 64 bits becomes a floating number in SQLite, which the STRICT table refuses.
Status SqliteTransaction::add_to_account(std::string_view account, Money amount) {
  BERTH_TRY(
      Statement add,
      connection_.use("INSERT INTO accounts VALUES (?, ?) ON CONFLICT (account) DO UPDATE SET "
                      "balance = balance + excluded.balance"));
  BERTH_TRY([[maybe_unused]] const std::int64_t changed,
            add.text(account).integer(amount.micros()).run());
  return {};
}

Result<Money> SqliteTransaction::balance(std::string_view account) {
  return noted([&]() -> Result<Money> {
    BERTH_TRY(Statement find, connection_.use("SELECT balance FROM accounts WHERE account = ?"));
    BERTH_TRY(const bool row, find.text(account).step());
    return row ? Money::micros(find.next_integer()) : Money();
  }());
}

Result<std::vector<Posting>> SqliteTransaction::postings(std::string_view account,
                                                         std::string_view after_key,
                                                         std::size_t count_max) {
  return noted([&]() -> Result<std::vector<Posting>> {
    std::int64_t after = 0;
    if (!after_key.empty()) {
      BERTH_TRY(Statement find, connection_.use("SELECT seq FROM postings WHERE key = ?"));
      BERTH_TRY(const bool row, find.text(after_key).step());
      if (!row)
        return fail(ErrorKind::kNotFound,
                    fmt::format("no posting has the key {} to go on from", after_key));
      after = find.next_integer();
    }
    // Two walks along an index each, merged: with OR, every page would sort all that follow.
    BERTH_TRY(
        Statement rows,
        connection_.use(
            "SELECT seq, key, source, target, amount, memo, at FROM postings WHERE source = ?1 "
            "AND seq > ?2 UNION ALL SELECT seq, key, source, target, amount, memo, at FROM "
            "postings WHERE target = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3"));
    rows.text(account).integer(after).integer(static_cast<std::int64_t>(count_max));
    std::vector<Posting> found;
    for (;;) {
      BERTH_TRY(const bool row, rows.step());
      if (!row) return found;
      Posting posting;
      [[maybe_unused]] const std::int64_t seq = rows.next_integer();
      posting.key = rows.next_text();
      posting.from = rows.next_text();
      posting.to = rows.next_text();
      posting.amount = Money::micros(rows.next_integer());
      posting.memo = rows.next_text();
      posting.at = wall_time_from_unix_ms(rows.next_integer());
      found.push_back(std::move(posting));
    }
  }());
}

Result<TurnTotals> SqliteTransaction::turn(std::string_view owner, std::string_view session,
                                           std::string_view turn) {
  return noted([&]() -> Result<TurnTotals> {
    BERTH_TRY(Statement find, connection_.use("SELECT used, debited FROM turns WHERE owner = ? AND "
                                              "session = ? AND turn = ?"));
    BERTH_TRY(const bool row, find.text(owner).text(session).text(turn).step());
    TurnTotals totals;
    if (row) {
      totals.used = Money::micros(find.next_integer());
      totals.debited = Money::micros(find.next_integer());
    }
    return totals;
  }());
}

Status SqliteTransaction::put_turn(std::string_view owner, std::string_view session,
                                   std::string_view turn, const TurnTotals& totals) {
  return noted([&]() -> Status {
    BERTH_CHECK_OK(begin_write());
    BERTH_TRY(Statement put,
              connection_.use("INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?)"));
    put.text(owner).text(session).text(turn).integer(totals.used.micros());
    BERTH_TRY([[maybe_unused]] const std::int64_t changed,
              put.integer(totals.debited.micros()).run());
    return {};
  }());
}

Result<std::uint64_t> SqliteTransaction::unknown_costs(std::string_view owner) {
  return noted([&]() -> Result<std::uint64_t> {
    BERTH_TRY(Statement count,
              connection_.use("SELECT count(*) FROM receipts INDEXED BY "
                              "receipts_of_unknown_cost WHERE owner = ? AND cost IS "
                              "NULL"));
    BERTH_TRY([[maybe_unused]] const bool row, count.text(owner).step());
    return static_cast<std::uint64_t>(count.next_integer());
  }());
}

}  // namespace berth::sqlite
