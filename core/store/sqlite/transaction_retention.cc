#include "core/store/sqlite/transaction.h"

namespace berth::sqlite {

Result<std::int64_t> SqliteTransaction::integer_of(std::string_view sql) {
  BERTH_TRY(Statement find, connection_.use(sql));
  BERTH_TRY(const bool row, find.step());
  return row ? find.next_integer() : 0;
}

Result<std::int64_t> SqliteTransaction::expire_results(WallTime before, std::size_t count_max) {
  return noted(drop_results(before, count_max));
}

Result<std::int64_t> SqliteTransaction::drop_results(WallTime before, std::size_t count_max) {
  BERTH_CHECK_OK(begin_write());
  // Everything up to this number is released and has no result, so no search looks at it again.
  BERTH_TRY(const std::int64_t done_to,
            integer_of("SELECT value FROM marks WHERE name = 'results_expired_to'"));
  // The revision rises, so that a writer who read the intent with its result is refused.
  BERTH_TRY(Statement drop,
            connection_.use("UPDATE intents SET result = NULL, result_expired = 1, revision = revision "
                            "+ 1 WHERE seq IN (SELECT seq FROM intents WHERE seq > ? AND state = "
                            "'RELEASED' AND result IS NOT NULL AND updated_at < ? ORDER BY seq LIMIT "
                            "?)"));
  BERTH_TRY(const std::int64_t dropped, drop.integer(done_to)
                                            .integer(unix_ms(before))
                                            .integer(static_cast<std::int64_t>(count_max))
                                            .run());
  BERTH_TRY(Statement first_left,
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
  cache_.clear();
  return dropped;
}

}  // namespace berth::sqlite
