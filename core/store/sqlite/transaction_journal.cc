#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/store/sqlite/transaction.h"
#include "core/store/sqlite/words.h"

namespace berth::sqlite {
namespace {

// Lines of one intent's journal; their ids must not run into the next intent's.
constexpr std::int64_t kLinesMax = (1 << 20) - 1;

}  // namespace

Status SqliteTransaction::append_journal(const JournalEntry& entry) {
  const JournalLine line{entry.from, entry.to, entry.event, entry.evidence, entry.at};
  return noted(write_journal(entry.name, std::span(&line, 1)));
}

Status SqliteTransaction::append_lines(std::string_view name, std::span<const JournalLine> lines) {
  return noted(write_journal(name, lines));
}

Result<std::int64_t> SqliteTransaction::journal_length(const RowCache::Entry& intent) {
  if (intent.lines) return *intent.lines;
  const std::int64_t first = intent.seq << 20;
  BERTH_TRY(Statement count,
            connection_.use("SELECT max(id) FROM journal WHERE id >= ? AND id < ?"));
  BERTH_TRY([[maybe_unused]] const bool row,
            count.integer(first).integer(first + kLinesMax).step());
  const auto last = count.next_optional();
  return last ? *last - first + 1 : 0;
}

// Several lines are one statement. OR FAIL: with the default, SQLite would first save each page that
// such a statement changes, to undo it alone; here a failure undoes the whole unit.
#define BERTH_INSERT_LINES "INSERT OR FAIL INTO journal VALUES (?, ?, ?, ?, ?, ?)"
#define BERTH_AND_LINE ", (?, ?, ?, ?, ?, ?)"

Status SqliteTransaction::write_journal(std::string_view name, std::span<const JournalLine> lines) {
  if (lines.empty()) return {};
  BERTH_CHECK_OK(begin_write());
  BERTH_TRY(const RowCache::Entry* const intent, need(name));
  BERTH_TRY(std::int64_t length, journal_length(*intent));
  if (length + static_cast<std::int64_t>(lines.size()) > kLinesMax)
    return fail(ErrorKind::kLimit,
                fmt::format("the journal of intent {} has {} lines, which is about all it takes",
                            name, length));
  const std::int64_t first = intent->seq << 20;
  while (!lines.empty()) {
    static constexpr std::array kInserts = {
        Sql(BERTH_INSERT_LINES), Sql(BERTH_INSERT_LINES BERTH_AND_LINE),
        Sql(BERTH_INSERT_LINES BERTH_AND_LINE BERTH_AND_LINE)};
    const std::size_t count = std::min(lines.size(), kInserts.size());
    BERTH_TRY(Statement insert, connection_.use(kInserts[count - 1]));
    for (const JournalLine& line : lines.first(count)) {
      insert.integer(first + length++).text(stored(line.from)).text(stored(line.to));
      insert.text(line.event).text(line.evidence).integer(unix_ms(line.at));
    }
    BERTH_TRY([[maybe_unused]] const std::int64_t changed, insert.run());
    lines = lines.subspan(count);
  }
  if (RowCache::Entry* const cached = known(name)) cached->lines = length;
  return {};
}

Result<std::vector<JournalEntry>> SqliteTransaction::journal(std::string_view name) {
  return noted([&]() -> Result<std::vector<JournalEntry>> {
    std::vector<JournalEntry> entries;
    BERTH_TRY(const RowCache::Entry* const intent, load(name));
    if (intent == nullptr) return entries;
    BERTH_TRY(Statement rows,
              connection_.use("SELECT from_state, to_state, event, evidence, at FROM "
                              "journal WHERE id >= ? AND id < ? ORDER BY id"));
    rows.integer(intent->seq << 20).integer((intent->seq << 20) + kLinesMax);
    for (;;) {
      BERTH_TRY(const bool row, rows.step());
      if (!row) return entries;
      JournalEntry entry;
      entry.name = name;
      BERTH_TRY(entry.from, stored_intent_state(rows.next_text()));
      BERTH_TRY(entry.to, stored_intent_state(rows.next_text()));
      entry.event = rows.next_text();
      entry.evidence = rows.next_text();
      entry.at = wall_time_from_unix_ms(rows.next_integer());
      entries.push_back(std::move(entry));
    }
  }());
}

}  // namespace berth::sqlite
