#include "core/store/sqlite/transaction.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "core/base/json.h"
#include "core/store/sqlite/words.h"

namespace berth::sqlite {
namespace {

constexpr std::size_t kResultBytesMax = std::size_t{16} << 20;
// What one list may hold of result documents; beyond it the caller asks for fewer rows or none.
constexpr std::size_t kListedResultBytesMax = std::size_t{256} << 20;

#define BERTH_INTENT_COLUMNS                                                                    \
  "i.seq, i.name, i.owner, i.session, i.call, i.turn, i.provider_id, i.provider_version, "       \
  "i.provider_digest, i.spec_digest, i.scope, i.boot_id, i.host_id, i.lock_path, i.state, "      \
  "i.dispatched, i.cancel_requested, i.ref, i.result_expired, i.created_at, i.updated_at, "      \
  "i.cleanup_attempts, i.last_error, i.last_stage, i.revision"
#define BERTH_WITH_RESULT "LEFT JOIN results r ON r.intent = i.seq "
#define BERTH_INTENT_AND_RESULT \
  "SELECT " BERTH_INTENT_COLUMNS ", r.intent, r.document FROM intents i " BERTH_WITH_RESULT
#define BERTH_OPEN_OF_PROVIDER                                                          \
  "SELECT " BERTH_INTENT_COLUMNS                                                        \
  ", r.intent, r.document FROM intents i INDEXED BY intents_open_of_provider "          \
  BERTH_WITH_RESULT "WHERE i.state <> 'RELEASED' AND i.provider_id = ? AND "

Status check_scope(const Scope& scope) {
  for (const auto& [field, value] : scope)
    if (!is_valid_utf8(field) || !is_valid_utf8(value))
      return fail(ErrorKind::kInvalidArgument,
                  fmt::format("the scope field '{}' is not valid UTF-8", to_valid_utf8(field)));
  return {};
}

}  // namespace

Status SqliteTransaction::run(const UnitOfWork& work) {
  Status done;
  try {
    done = work(*this);
  } catch (const std::exception& thrown) {
    done = fail(ErrorKind::kInternal, fmt::format("a unit of work threw: {}", thrown.what()));
  } catch (...) {
    done = fail(ErrorKind::kInternal, "a unit of work threw what is no exception");
  }
  if (done && failed_) done = fail(*failed_);
  if (!savepoint_ || connection_.idle()) return done;
  if (!done) {
    if (auto undone = connection_.run("ROLLBACK TO unit"); !undone) {
      broken_ = true;
      return undone;
    }
  }
  if (auto released = connection_.run("RELEASE unit"); !released) {
    broken_ = true;
    return released;
  }
  return done;
}

Status SqliteTransaction::begin_write() {
  if (kind_ == Kind::kRead)
    return fail(ErrorKind::kRefused, "a read-only unit of work tried to write; use commit");
  // Without this, a write after SQLite's own rollback would be committed by itself.
  if (connection_.idle())
    return fail(ErrorKind::kIo, "the database rolled the transaction back; nothing of it is kept");
  if (kind_ == Kind::kSavepoint && !savepoint_) {
    BERTH_CHECK_OK(connection_.run("SAVEPOINT unit"));
    savepoint_ = true;
  }
  return {};
}

Result<std::int64_t> SqliteTransaction::seq_of(std::string_view name) {
  if (seq_ != 0 && seq_name_ == name) return seq_;
  BERTH_TRY(Statement find, connection_.use("SELECT seq FROM intents WHERE name = ?"));
  BERTH_TRY(const bool row, find.text(name).step());
  if (!row) return fail(ErrorKind::kNotFound, fmt::format("no intent has the name {}", name));
  seq_name_ = name;
  seq_ = find.next_integer();
  return seq_;
}

Result<Intent> SqliteTransaction::intent_row(Statement& row) {
  Intent intent;
  const std::int64_t seq = row.next_integer();
  intent.name = row.next_text();
  intent.key.owner = row.next_text();
  intent.key.session = row.next_text();
  intent.key.call = row.next_text();
  intent.turn = row.next_text();
  intent.provider_id = row.next_text();
  intent.provider_version = row.next_text();
  intent.provider_digest = row.next_text();
  intent.spec_digest = row.next_text();
  BERTH_TRY(intent.scope, stored_pairs(row.next_text()));
  intent.holder.boot_id = row.next_text();
  intent.holder.host_id = row.next_text();
  intent.holder.lock_path = row.next_text();
  BERTH_TRY(intent.state, stored_intent_state(row.next_text()));
  intent.dispatched = row.next_integer() != 0;
  intent.cancel_requested = row.next_integer() != 0;
  intent.ref = row.next_text();
  intent.result_expired = row.next_integer() != 0;
  intent.created_at = wall_time_from_unix_ms(row.next_integer());
  intent.updated_at = wall_time_from_unix_ms(row.next_integer());
  intent.cleanup_attempts = static_cast<std::uint32_t>(row.next_integer());
  intent.last_error = row.next_text();
  intent.last_stage = row.next_text();
  intent.revision = static_cast<std::uint64_t>(row.next_integer());
  seq_name_ = intent.name;
  seq_ = seq;
  return intent;
}

Result<std::optional<Intent>> SqliteTransaction::one_intent(Statement& statement) {
  BERTH_TRY(const bool row, statement.step());
  if (!row) return std::optional<Intent>();
  BERTH_TRY(Intent intent, intent_row(statement));
  if (statement.next_optional()) intent.result = statement.next_text();
  return std::optional<Intent>(std::move(intent));
}

Result<std::optional<Intent>> SqliteTransaction::intent(std::string_view name) {
  auto statement = connection_.use(BERTH_INTENT_AND_RESULT "WHERE i.name = ?");
  if (!statement) return noted<std::optional<Intent>>(fail(statement.error()));
  return noted(one_intent(statement->text(name)));
}

Result<std::optional<Intent>> SqliteTransaction::intent_of_call(const CallKey& key) {
  auto statement = connection_.use(BERTH_INTENT_AND_RESULT
                                   "WHERE i.owner = ? AND i.session = ? AND i.call = ?");
  if (!statement) return noted<std::optional<Intent>>(fail(statement.error()));
  return noted(one_intent(statement->text(key.owner).text(key.session).text(key.call)));
}

Result<std::vector<Intent>> SqliteTransaction::intents(const IntentFilter& filter) {
  return noted(list_intents(filter));
}

Result<std::vector<Intent>> SqliteTransaction::list_intents(const IntentFilter& filter) {
  std::string sql = filter.with_results
                        ? "SELECT " BERTH_INTENT_COLUMNS
                          ", r.intent, r.document FROM intents i "
                        : "SELECT " BERTH_INTENT_COLUMNS ", NULL, NULL FROM intents i ";
  // Few of many are unresolved; left alone, the planner walks the whole table in its order.
  if (filter.unresolved_only && filter.name.empty()) sql += "INDEXED BY intents_unresolved ";
  if (filter.with_results) sql += "LEFT JOIN results r ON r.intent = i.seq ";
  sql += "WHERE i.seq > ?";
  if (!filter.owner.empty()) sql += " AND i.owner = ?";
  if (!filter.session.empty()) sql += " AND i.session = ?";
  if (!filter.provider_id.empty()) sql += " AND i.provider_id = ?";
  if (!filter.name.empty()) sql += " AND i.name = ?";
  if (filter.unresolved_only) sql += " AND i.state <> 'RELEASED'";
  sql += " ORDER BY i.seq LIMIT ?";
  std::int64_t after = 0;
  if (!filter.after_name.empty()) {
    BERTH_TRY(after, seq_of(filter.after_name));
  }
  BERTH_TRY(Statement rows, connection_.use(sql));
  rows.integer(after);
  for (const std::string* text : {&filter.owner, &filter.session, &filter.provider_id, &filter.name})
    if (!text->empty()) rows.text(*text);
  rows.integer(static_cast<std::int64_t>(filter.count_max));
  std::vector<Intent> found;
  std::size_t result_bytes = 0;
  for (;;) {
    BERTH_TRY(const bool row, rows.step());
    if (!row) return found;
    BERTH_TRY(Intent intent, intent_row(rows));
    if (rows.next_optional()) {
      intent.result = rows.next_text();
      result_bytes += intent.result->size();
      if (result_bytes > kListedResultBytesMax)
        return fail(ErrorKind::kLimit,
                    fmt::format("the results of the first {} intents have more than {} bytes; ask "
                                "for fewer at once, or without results",
                                found.size() + 1, kListedResultBytesMax));
    }
    found.push_back(std::move(intent));
  }
}

Result<std::optional<Intent>> SqliteTransaction::unresolved_in_other_scope(
    std::string_view provider_id, const Scope& scope) {
  return noted([&]() -> Result<std::optional<Intent>> {
    const std::string text = stored(scope);
    // Two ranges of an index: one comparison for inequality would read every open intent.
    for (const std::string_view sql :
         {BERTH_OPEN_OF_PROVIDER "i.scope < ? LIMIT 1",
          BERTH_OPEN_OF_PROVIDER "i.scope > ? LIMIT 1"}) {
      BERTH_TRY(Statement find, connection_.use(sql));
      BERTH_TRY(auto intent, one_intent(find.text(provider_id).text(text)));
      if (intent) return intent;
    }
    return std::optional<Intent>();
  }());
}

Status SqliteTransaction::insert_intent(const Intent& intent) { return noted(write_intent(intent)); }

Status SqliteTransaction::write_intent(const Intent& intent) {
  BERTH_CHECK_OK(begin_write());
  BERTH_CHECK_OK(check_scope(intent.scope));
  BERTH_TRY(Statement insert,
            connection_.use("INSERT INTO intents (name, owner, session, call, turn, provider_id, "
                            "provider_version, provider_digest, spec_digest, scope, boot_id, host_id, "
                            "lock_path, state, dispatched, cancel_requested, ref, result_expired, "
                            "created_at, updated_at, cleanup_attempts, last_error, last_stage, "
                            "revision) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
                            "ON CONFLICT DO NOTHING RETURNING seq"));
  const std::string scope = stored(intent.scope);
  insert.text(intent.name).text(intent.key.owner).text(intent.key.session).text(intent.key.call);
  insert.text(intent.turn).text(intent.provider_id).text(intent.provider_version);
  insert.text(intent.provider_digest).text(intent.spec_digest).text(scope);
  insert.text(intent.holder.boot_id).text(intent.holder.host_id).text(intent.holder.lock_path);
  insert.text(stored(intent.state)).integer(std::int64_t{intent.dispatched});
  insert.integer(std::int64_t{intent.cancel_requested}).text(intent.ref);
  insert.integer(std::int64_t{intent.result_expired});
  insert.integer(unix_ms(intent.created_at)).integer(unix_ms(intent.updated_at));
  insert.integer(std::int64_t{intent.cleanup_attempts}).text(intent.last_error);
  insert.text(intent.last_stage).integer(static_cast<std::int64_t>(intent.revision));
  BERTH_TRY(const bool inserted, insert.step());
  if (!inserted)
    return fail(ErrorKind::kConflict,
                fmt::format("an intent with the name {} or for call {} of session {} exists already",
                            intent.name, intent.key.call, intent.key.session));
  seq_name_ = intent.name;
  seq_ = insert.next_integer();
  BERTH_TRY([[maybe_unused]] const bool more, insert.step());
  if (!intent.result) return {};
  return put_result(seq_, intent.result);
}

Status SqliteTransaction::update_intent(const Intent& intent, std::uint64_t expected_revision) {
  return noted(rewrite_intent(intent, expected_revision));
}

Status SqliteTransaction::rewrite_intent(const Intent& intent, std::uint64_t expected_revision) {
  BERTH_CHECK_OK(begin_write());
  BERTH_CHECK_OK(check_scope(intent.scope));
  // The call is part of what identifies the row: it is compared, not written.
  BERTH_TRY(Statement update,
            connection_.use("UPDATE intents SET turn = ?, provider_id = ?, provider_version = ?, "
                            "provider_digest = ?, spec_digest = ?, scope = ?, boot_id = ?, host_id = "
                            "?, lock_path = ?, state = ?, dispatched = ?, cancel_requested = ?, ref = "
                            "?, result_expired = ?, created_at = ?, updated_at = ?, cleanup_attempts "
                            "= ?, last_error = ?, last_stage = ?, revision = ? WHERE name = ? AND "
                            "revision = ? AND owner = ? AND session = ? AND call = ?"));
  const std::string scope = stored(intent.scope);
  update.text(intent.turn).text(intent.provider_id).text(intent.provider_version);
  update.text(intent.provider_digest).text(intent.spec_digest).text(scope);
  update.text(intent.holder.boot_id).text(intent.holder.host_id).text(intent.holder.lock_path);
  update.text(stored(intent.state)).integer(std::int64_t{intent.dispatched});
  update.integer(std::int64_t{intent.cancel_requested}).text(intent.ref);
  update.integer(std::int64_t{intent.result_expired});
  update.integer(unix_ms(intent.created_at)).integer(unix_ms(intent.updated_at));
  update.integer(std::int64_t{intent.cleanup_attempts}).text(intent.last_error);
  update.text(intent.last_stage).integer(static_cast<std::int64_t>(intent.revision));
  update.text(intent.name).integer(static_cast<std::int64_t>(expected_revision));
  update.text(intent.key.owner).text(intent.key.session).text(intent.key.call);
  BERTH_TRY(const std::int64_t changed, update.run());
  if (changed != 1)
    return fail(ErrorKind::kConflict,
                fmt::format("intent {} is not stored with revision {} for this call: another writer "
                            "was here", intent.name, expected_revision));
  BERTH_TRY(const std::int64_t seq, seq_of(intent.name));
  return put_result(seq, intent.result);
}

Status SqliteTransaction::put_result(std::int64_t seq, const std::optional<std::string>& document) {
  if (!document) {
    BERTH_TRY(Statement drop, connection_.use("DELETE FROM results WHERE intent = ?"));
    BERTH_TRY([[maybe_unused]] const std::int64_t changed, drop.integer(seq).run());
    return {};
  }
  if (document->size() > kResultBytesMax)
    return fail(ErrorKind::kLimit, fmt::format("a result document of {} bytes is more than the {} "
                                               "that are kept", document->size(), kResultBytesMax));
  BERTH_TRY(Statement put, connection_.use("INSERT OR REPLACE INTO results VALUES (?, ?)"));
  BERTH_TRY([[maybe_unused]] const std::int64_t changed, put.integer(seq).bytes(*document).run());
  return {};
}

Status SqliteTransaction::append_journal(const JournalEntry& entry) {
  return noted(write_journal(entry));
}

Status SqliteTransaction::write_journal(const JournalEntry& entry) {
  BERTH_CHECK_OK(begin_write());
  BERTH_TRY(const std::int64_t seq, seq_of(entry.name));
  BERTH_TRY(Statement insert,
            connection_.use("INSERT INTO journal (intent, from_state, to_state, event, evidence, at) "
                            "VALUES (?, ?, ?, ?, ?, ?)"));
  insert.integer(seq).text(stored(entry.from)).text(stored(entry.to)).text(entry.event);
  BERTH_TRY([[maybe_unused]] const std::int64_t changed,
            insert.text(entry.evidence).integer(unix_ms(entry.at)).run());
  return {};
}

Result<std::vector<JournalEntry>> SqliteTransaction::journal(std::string_view name) {
  return noted([&]() -> Result<std::vector<JournalEntry>> {
    std::vector<JournalEntry> entries;
    BERTH_TRY(Statement rows,
              connection_.use("SELECT j.from_state, j.to_state, j.event, j.evidence, j.at FROM intents "
                              "i JOIN journal j ON j.intent = i.seq WHERE i.name = ? ORDER BY j.seq"));
    rows.text(name);
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

Result<std::optional<SessionRecord>> SqliteTransaction::session(std::string_view owner,
                                                                std::string_view session) {
  return noted([&]() -> Result<std::optional<SessionRecord>> {
    BERTH_TRY(Statement find, connection_.use("SELECT state, updated_at FROM sessions WHERE owner = ? "
                                              "AND session = ?"));
    BERTH_TRY(const bool row, find.text(owner).text(session).step());
    if (!row) return std::optional<SessionRecord>();
    SessionRecord record;
    record.owner = owner;
    record.session = session;
    BERTH_TRY(record.state, stored_session_state(find.next_text()));
    record.updated_at = wall_time_from_unix_ms(find.next_integer());
    return std::optional<SessionRecord>(std::move(record));
  }());
}

Status SqliteTransaction::put_session(const SessionRecord& session) {
  return noted([&]() -> Status {
    BERTH_CHECK_OK(begin_write());
    BERTH_TRY(Statement put,
              connection_.use("INSERT INTO sessions VALUES (?, ?, ?, ?) ON CONFLICT (owner, session) "
                              "DO UPDATE SET state = excluded.state, updated_at = "
                              "excluded.updated_at"));
    put.text(session.owner).text(session.session).text(stored(session.state));
    BERTH_TRY([[maybe_unused]] const std::int64_t changed,
              put.integer(unix_ms(session.updated_at)).run());
    return {};
  }());
}

Result<std::int64_t> SqliteTransaction::expire_results(WallTime before, std::size_t count_max) {
  return noted(drop_results(before, count_max));
}

Result<std::int64_t> SqliteTransaction::drop_results(WallTime before, std::size_t count_max) {
  BERTH_CHECK_OK(begin_write());
  // The revision rises, so that a writer who read the intent with its result is refused.
  BERTH_TRY(Statement mark,
            connection_.use("UPDATE intents SET result_expired = 1, revision = revision + 1 WHERE seq "
                            "IN (SELECT r.intent FROM results r JOIN intents i ON i.seq = r.intent "
                            "WHERE i.state = 'RELEASED' AND i.updated_at < ? ORDER BY r.intent LIMIT "
                            "?)"));
  BERTH_TRY(const std::int64_t marked,
            mark.integer(unix_ms(before)).integer(static_cast<std::int64_t>(count_max)).run());
  BERTH_TRY(Statement drop,
            connection_.use("DELETE FROM results WHERE intent IN (SELECT r.intent FROM results r JOIN "
                            "intents i ON i.seq = r.intent WHERE i.result_expired = 1 ORDER BY "
                            "r.intent LIMIT ?)"));
  BERTH_TRY([[maybe_unused]] const std::int64_t dropped, drop.integer(marked).run());
  return marked;
}

}  // namespace berth::sqlite
