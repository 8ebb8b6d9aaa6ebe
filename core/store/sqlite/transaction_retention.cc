#include <chrono>

#include "core/store/sqlite/transaction.h"

namespace berth::sqlite {

Result<std::int64_t> SqliteTransaction::integer_of(Sql sql) {
  BERTH_TRY(Statement find, connection_.use(sql));
  BERTH_TRY(const bool row, find.step());
  return row ? find.next_integer() : 0;
}

Result<std::int64_t> SqliteTransaction::expire_results(WallTime before, std::size_t count_max) {
  return noted(drop_results(before, count_max));
}

Result<std::vector<std::string>> SqliteTransaction::names_to_expire(std::int64_t after,
                                                                    WallTime before,
                                                                    std::size_t count_max) {
  BERTH_TRY(
      Statement rows,
      connection_.use("SELECT name FROM intents WHERE seq > ? AND state = 'RELEASED' AND result "
                      "IS NOT NULL AND updated_at < ? ORDER BY seq LIMIT ?"));
  rows.integer(after).integer(unix_ms(before)).integer(static_cast<std::int64_t>(count_max));
  std::vector<std::string> names;
  for (;;) {
    BERTH_TRY(const bool row, rows.step());
    if (!row) return names;
    names.push_back(rows.next_text());
  }
}

Result<std::int64_t> SqliteTransaction::drop_results(WallTime before, std::size_t count_max) {
  BERTH_CHECK_OK(begin_write());
  // Everything up to this number is released and has no result, so no search looks at it again.
  BERTH_TRY(const std::int64_t done_to,
            integer_of("SELECT value FROM marks WHERE name = 'results_expired_to'"));
  BERTH_TRY(std::vector<std::string> names, names_to_expire(done_to, before, count_max));
  const WallTime now =
      std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  for (const std::string& name : names) {
    BERTH_TRY(const RowCache::Entry* const found, need(name));
    Intent intent = found->intent;
    intent.result.reset();
    intent.result_expired = true;
    intent.revision += 1;
    const JournalLine line{intent.state, intent.state, "expire", "retention has passed", now};
    BERTH_CHECK_OK(write_journal(name, std::span(&line, 1)));
    BERTH_CHECK_OK(rewrite_intent(intent, intent.revision - 1));
  }
  BERTH_TRY(
      Statement first_left,
      connection_.use("SELECT seq FROM intents WHERE seq > ? AND (state <> 'RELEASED' OR result "
                      "IS NOT NULL) ORDER BY seq LIMIT 1"));
  BERTH_TRY(const bool left, first_left.integer(done_to).step());
  std::int64_t now_done_to = 0;
  if (left) {
    now_done_to = first_left.next_integer() - 1;
  } else {
    BERTH_TRY(now_done_to, integer_of("SELECT max(seq) FROM intents"));
  }
  BERTH_TRY(Statement mark,
            connection_.use("UPDATE marks SET value = ? WHERE name = 'results_expired_to'"));
  BERTH_TRY([[maybe_unused]] const std::int64_t marked, mark.integer(now_done_to).run());
  return static_cast<std::int64_t>(names.size());
}

}  // namespace berth::sqlite
