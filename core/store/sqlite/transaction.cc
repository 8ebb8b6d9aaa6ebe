#include "core/store/sqlite/transaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/base/json.h"
#include "core/store/sqlite/words.h"

namespace berth::sqlite {
namespace {

constexpr std::size_t kResultBytesMax = std::size_t{16} << 20;
// What one list may hold of result documents; beyond it the caller asks for fewer rows or none.
constexpr std::size_t kListedResultBytesMax = std::size_t{256} << 20;

#define BERTH_INTENT_COLUMNS                                                                   \
  "i.seq, i.name, i.owner, i.session, i.call, i.turn, p.provider_id, p.provider_version, "     \
  "p.provider_digest, i.spec_digest, p.scope, i.created_at, h.boot_id, h.host_id, "            \
  "h.lock_path, i.state, i.dispatched, i.cancel_requested, i.ref, i.result_expired, "          \
  "i.updated_at, i.cleanup_attempts, i.last_error, i.last_stage, i.revision"
// CROSS: SQLite keeps the tables in this order, whatever it knows of their sizes.
#define BERTH_SHARED_ROWS \
  "CROSS JOIN places p ON p.number = i.place CROSS JOIN holders h ON h.number = i.holder "

// The columns that a call's progress changes, as bind_progress binds them.
#define BERTH_UPDATE_PROGRESS                                                                    \
  "UPDATE intents SET state = ?, dispatched = ?, cancel_requested = ?, ref = ?, "                \
  "result_expired = ?, updated_at = ?, cleanup_attempts = ?, last_error = ?, last_stage = ?, "   \
  "revision = ?, result = ?"

Status check_intent(const Intent& intent) {
  for (const auto& [field, value] : intent.scope)
    if (!is_valid_utf8(field) || !is_valid_utf8(value))
      return fail(ErrorKind::kInvalidArgument,
                  fmt::format("the scope field '{}' is not valid UTF-8", to_valid_utf8(field)));
  if (intent.result && intent.result->size() > kResultBytesMax)
    return fail(ErrorKind::kLimit,
                fmt::format("a result document of {} bytes is more than the {} that are kept",
                            intent.result->size(), kResultBytesMax));
  return {};
}

// What never changes in a good life; written again only when it did, as when another host takes over.
bool same_identity(const Intent& a, const Intent& b) {
  return a.turn == b.turn && a.provider_id == b.provider_id &&
         a.provider_version == b.provider_version && a.provider_digest == b.provider_digest &&
         a.spec_digest == b.spec_digest && a.scope == b.scope && a.created_at == b.created_at &&
         a.holder == b.holder;
}

// The columns that a call's progress changes, in the order of both statements below.
void bind_progress(Statement& statement, const Intent& intent) {
  statement.text(stored(intent.state)).integer(std::int64_t{intent.dispatched});
  statement.integer(std::int64_t{intent.cancel_requested}).text(intent.ref);
  statement.integer(std::int64_t{intent.result_expired}).integer(unix_ms(intent.updated_at));
  statement.integer(std::int64_t{intent.cleanup_attempts}).text(intent.last_error);
  statement.text(intent.last_stage).integer(static_cast<std::int64_t>(intent.revision));
  statement.optional_bytes(intent.result);
}

bool is_open(const Intent& intent) { return intent.state != IntentState::kReleased; }

// What is released is rarely asked for again, and a result may be large.
bool is_worth_caching(const Intent& intent) { return is_open(intent) && !intent.result; }

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
  if (done || !wrote_) {
    if (savepoint_ && !connection_.idle()) {
      auto released = connection_.run("RELEASE unit");
      if (!released) must_roll_back_ = true;
      if (done) done = released;
    }
    return done;
  }
  cache_.clear();
  unlisted_.clear();
  must_roll_back_ = !savepoint_ || connection_.idle() || !connection_.run("ROLLBACK TO unit") ||
                    !connection_.run("RELEASE unit");
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
  wrote_ = true;
  return {};
}

Result<RowCache::Entry> SqliteTransaction::entry_row(Statement& row) {
  RowCache::Entry entry;
  Intent& intent = entry.intent;
  entry.seq = row.next_integer();
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
  intent.created_at = wall_time_from_unix_ms(row.next_integer());
  intent.holder.boot_id = row.next_text();
  intent.holder.host_id = row.next_text();
  intent.holder.lock_path = row.next_text();
  BERTH_TRY(intent.state, stored_intent_state(row.next_text()));
  intent.dispatched = row.next_integer() != 0;
  intent.cancel_requested = row.next_integer() != 0;
  intent.ref = row.next_text();
  intent.result_expired = row.next_integer() != 0;
  intent.updated_at = wall_time_from_unix_ms(row.next_integer());
  intent.cleanup_attempts = static_cast<std::uint32_t>(row.next_integer());
  intent.last_error = row.next_text();
  intent.last_stage = row.next_text();
  intent.revision = static_cast<std::uint64_t>(row.next_integer());
  const bool without_result = row.next_integer() != 0;
  if (!without_result) intent.result = row.next_text();
  return entry;
}

RowCache::Entry* SqliteTransaction::known(std::string_view name) {
  if (last_ && last_->intent.name == name) return &*last_;
  return cache_.intent(name);
}

Result<std::optional<std::int64_t>> SqliteTransaction::seq_of(std::string_view name) {
  if (const RowCache::Entry* cached = known(name)) return std::optional(cached->seq);
  return unlisted_.of_name(connection_, name);
}

Result<RowCache::Entry> SqliteTransaction::row_of(std::int64_t seq) {
  BERTH_TRY(Statement find,
            connection_.use("SELECT " BERTH_INTENT_COLUMNS
                            ", i.result IS NULL, i.result FROM intents i " BERTH_SHARED_ROWS
                            "WHERE i.seq = ?"));
  BERTH_TRY(const bool row, find.integer(seq).step());
  if (!row)
    return fail(ErrorKind::kCorrupt,
                fmt::format("the store {} lists an intent with the number {} and has none",
                            connection_.path().string(), seq));
  return entry_row(find);
}

Result<const RowCache::Entry*> SqliteTransaction::load(std::string_view name) {
  if (const RowCache::Entry* cached = known(name)) return cached;
  BERTH_TRY(const std::optional<std::int64_t> seq, seq_of(name));
  if (!seq) return nullptr;
  BERTH_TRY(RowCache::Entry entry, row_of(*seq));
  if (is_worth_caching(entry.intent)) return &cache_.keep(std::move(entry));
  last_ = std::move(entry);
  return &*last_;
}

Result<const RowCache::Entry*> SqliteTransaction::need(std::string_view name) {
  BERTH_TRY(const RowCache::Entry* const entry, load(name));
  if (entry == nullptr)
    return fail(ErrorKind::kNotFound, fmt::format("no intent has the name {}", name));
  return entry;
}

Result<std::optional<Intent>> SqliteTransaction::intent(std::string_view name) {
  const auto entry = noted(load(name));
  if (!entry) return fail(entry.error());
  if (*entry == nullptr) return std::optional<Intent>();
  return std::optional<Intent>((*entry)->intent);
}

Result<std::optional<std::uint64_t>> SqliteTransaction::revision_of(std::string_view name) {
  const auto entry = noted(load(name));
  if (!entry) return fail(entry.error());
  if (*entry == nullptr) return std::optional<std::uint64_t>();
  return std::optional((*entry)->intent.revision);
}

Result<std::optional<Intent>> SqliteTransaction::intent_of_call(const CallKey& key) {
  return noted(find_of_call(key));
}

Result<std::optional<Intent>> SqliteTransaction::find_of_call(const CallKey& key) {
  BERTH_TRY(const std::optional<std::int64_t> seq, unlisted_.of_call(connection_, key));
  if (!seq) return std::optional<Intent>();
  BERTH_TRY(RowCache::Entry entry, row_of(*seq));
  return std::optional<Intent>(std::move(entry.intent));
}

Result<std::optional<Intent>> SqliteTransaction::unresolved_in_other_scope(
    std::string_view provider_id, const Scope& scope) {
  return noted(find_in_other_scope(provider_id, scope));
}

Result<std::optional<Intent>> SqliteTransaction::find_in_other_scope(std::string_view provider_id,
                                                                     const Scope& scope) {
  const Scope* only = cache_.only_scope(provider_id);
  if (only != nullptr && *only == scope) return std::optional<Intent>();
  const std::string text = stored(scope);
  // From the few places of the provider to what is open there: there may be many open intents.
  BERTH_TRY(Statement find,
            connection_.use("SELECT i.seq FROM places p CROSS JOIN intents i INDEXED BY "
                            "intents_open ON i.place = p.number WHERE i.open = 1 AND "
                            "p.provider_id = ? AND p.scope <> ? LIMIT 1"));
  BERTH_TRY(const bool row, find.text(provider_id).text(text).step());
  if (row) {
    BERTH_TRY(RowCache::Entry entry, row_of(find.next_integer()));
    return std::optional<Intent>(std::move(entry.intent));
  }
  cache_.keep_only_scope(provider_id, scope);
  return std::optional<Intent>();
}

Result<std::vector<Intent>> SqliteTransaction::intents(const IntentFilter& filter) {
  return noted(list_intents(filter));
}

Result<std::vector<Intent>> SqliteTransaction::list_intents(const IntentFilter& filter) {
  std::string sql = "SELECT " BERTH_INTENT_COLUMNS;
  sql += filter.with_results ? ", i.result IS NULL, i.result" : ", 1, NULL";
  sql += " FROM intents i ";
  // Few of many are open; left alone, the planner walks the whole table in its order.
  if (filter.unresolved_only && filter.name.empty()) sql += "INDEXED BY intents_open ";
  sql += BERTH_SHARED_ROWS "WHERE i.seq > ?";
  if (!filter.owner.empty()) sql += " AND i.owner = ?";
  if (!filter.session.empty()) sql += " AND i.session = ?";
  if (!filter.provider_id.empty()) sql += " AND p.provider_id = ?";
  if (!filter.name.empty()) sql += " AND i.seq = ?";
  if (filter.unresolved_only) sql += " AND i.open = 1";
  sql += filter.newest ? " ORDER BY i.seq DESC LIMIT ?" : " ORDER BY i.seq LIMIT ?";
  std::int64_t after = 0;
  if (!filter.after_name.empty()) {
    BERTH_TRY(const RowCache::Entry* const last, need(filter.after_name));
    after = last->seq;
  }
  std::optional<std::int64_t> only;
  if (!filter.name.empty()) {
    BERTH_TRY(only, seq_of(filter.name));
    if (!only) return std::vector<Intent>();
  }
  BERTH_TRY(Statement rows, connection_.use_text(sql));
  rows.integer(after);
  for (const std::string* text : {&filter.owner, &filter.session, &filter.provider_id})
    if (!text->empty()) rows.text(*text);
  if (only) rows.integer(*only);
  rows.integer(static_cast<std::int64_t>(filter.count_max));
  std::vector<Intent> found;
  std::size_t result_bytes = 0;
  for (;;) {
    BERTH_TRY(const bool row, rows.step());
    if (!row) break;
    BERTH_TRY(RowCache::Entry entry, entry_row(rows));
    if (entry.intent.result) result_bytes += entry.intent.result->size();
    if (result_bytes > kListedResultBytesMax)
      return fail(
          ErrorKind::kLimit,
          fmt::format("the results of the first {} intents have more than {} bytes; ask for "
                      "fewer at once, or without results",
                      found.size() + 1, kListedResultBytesMax));
    found.push_back(std::move(entry.intent));
  }
  if (filter.newest) std::reverse(found.begin(), found.end());
  return found;
}

Status SqliteTransaction::insert_intent(const Intent& intent) {
  return noted([&]() -> Status {
    BERTH_TRY(const bool written, write_intent(intent));
    if (written) return {};
    return fail(
        ErrorKind::kConflict,
        fmt::format("an intent with the name {} or for call {} of session {} exists already",
                    intent.name, intent.key.call, intent.key.session));
  }());
}

Result<bool> SqliteTransaction::insert_new_intent(const Intent& intent) {
  return noted(write_intent(intent));
}

Result<bool> SqliteTransaction::write_intent(const Intent& intent) {
  BERTH_CHECK_OK(begin_write());
  BERTH_CHECK_OK(check_intent(intent));
  BERTH_TRY(const std::optional<std::int64_t> same_name, seq_of(intent.name));
  if (same_name) return false;
  BERTH_TRY(const std::optional<std::int64_t> same_call,
            unlisted_.of_call(connection_, intent.key));
  if (same_call) return false;
  BERTH_TRY(const std::int64_t place, place_of(intent));
  BERTH_TRY(const std::int64_t holder, holder_of(intent));
  BERTH_TRY(
      Statement insert,
      connection_.use("INSERT INTO intents (name, owner, session, call, turn, place, spec_digest, "
                      "created_at, holder, state, dispatched, cancel_requested, ref, "
                      "result_expired, updated_at, cleanup_attempts, last_error, last_stage, "
                      "revision, result, open) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  insert.text(intent.name).text(intent.key.owner).text(intent.key.session).text(intent.key.call);
  insert.text(intent.turn).integer(place).text(intent.spec_digest);
  insert.integer(unix_ms(intent.created_at)).integer(holder);
  bind_progress(insert, intent);
  BERTH_TRY([[maybe_unused]] const std::int64_t changed,
            insert.integer(std::int64_t{is_open(intent)}).run());
  const std::int64_t seq = connection_.last_row();
  unlisted_.inserted(intent, seq);
  if (is_worth_caching(intent)) cache_.keep({intent, seq, 0, true});
  if (is_open(intent)) cache_.opened(intent.provider_id, intent.scope);
  return true;
}

Status SqliteTransaction::update_intent(const Intent& intent, std::uint64_t expected_revision) {
  return noted(rewrite_intent(intent, expected_revision));
}

Status SqliteTransaction::rewrite_intent(const Intent& intent, std::uint64_t expected_revision) {
  BERTH_CHECK_OK(begin_write());
  BERTH_CHECK_OK(check_intent(intent));
  BERTH_TRY(const RowCache::Entry* const before, load(intent.name));
  // The call is part of what identifies the row: it is compared, not written.
  if (before == nullptr || before->intent.revision != expected_revision ||
      before->intent.key != intent.key)
    return fail(
        ErrorKind::kConflict,
        fmt::format("intent {} is not stored with revision {} for this call: another writer "
                    "was here",
                    intent.name, expected_revision));
  const std::int64_t seq = before->seq;
  const std::optional<std::int64_t> lines = before->lines;
  if (!same_identity(before->intent, intent)) BERTH_CHECK_OK(rewrite_identity(intent, seq));
  // `open` stands in an index, which an update that names it writes anew even if it stays the same.
  const bool opens = is_open(before->intent) != is_open(intent);
  BERTH_TRY(
      Statement update,
      connection_.use(opens ? Sql(BERTH_UPDATE_PROGRESS ", open = NOT open WHERE seq = ?")
                            : Sql(BERTH_UPDATE_PROGRESS " WHERE seq = ?")));
  bind_progress(update, intent);
  BERTH_TRY([[maybe_unused]] const std::int64_t changed, update.integer(seq).run());
  last_.reset();
  RowCache::Entry* const cached = cache_.intent(intent.name);
  if (!is_worth_caching(intent)) {
    cache_.forget(intent.name);
  } else if (cached != nullptr) {
    cached->intent = intent;
  } else {
    cache_.keep({intent, seq, lines});
  }
  if (is_open(intent)) cache_.opened(intent.provider_id, intent.scope);
  return {};
}

Status SqliteTransaction::rewrite_identity(const Intent& intent, std::int64_t seq) {
  BERTH_TRY(const std::int64_t place, place_of(intent));
  BERTH_TRY(const std::int64_t holder, holder_of(intent));
  BERTH_TRY(
      Statement update,
      connection_.use("UPDATE intents SET turn = ?, place = ?, spec_digest = ?, created_at = ?, "
                      "holder = ? WHERE seq = ?"));
  update.text(intent.turn).integer(place).text(intent.spec_digest);
  update.integer(unix_ms(intent.created_at)).integer(holder);
  BERTH_TRY([[maybe_unused]] const std::int64_t changed, update.integer(seq).run());
  return {};
}

Result<std::optional<SessionRecord>> SqliteTransaction::session(std::string_view owner,
                                                                std::string_view session) {
  return noted(find_session(owner, session));
}

Result<std::optional<SessionRecord>> SqliteTransaction::find_session(std::string_view owner,
                                                                     std::string_view session) {
  std::string key = RowCache::key_of({owner, session});
  if (const std::optional<SessionRecord>* cached = cache_.session(key)) return *cached;
  BERTH_TRY(Statement find,
            connection_.use("SELECT state, updated_at FROM sessions WHERE owner = ? "
                            "AND session = ?"));
  BERTH_TRY(const bool row, find.text(owner).text(session).step());
  std::optional<SessionRecord> record;
  if (row) {
    record.emplace();
    record->owner = owner;
    record->session = session;
    BERTH_TRY(record->state, stored_session_state(find.next_text()));
    record->updated_at = wall_time_from_unix_ms(find.next_integer());
  }
  cache_.keep_session(std::move(key), record);
  return record;
}

Status SqliteTransaction::put_session(const SessionRecord& session) {
  return noted(write_session(session));
}

Status SqliteTransaction::write_session(const SessionRecord& session) {
  BERTH_CHECK_OK(begin_write());
  BERTH_TRY(Statement put, connection_.use("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)"));
  put.text(session.owner).text(session.session).text(stored(session.state));
  BERTH_TRY([[maybe_unused]] const std::int64_t changed,
            put.integer(unix_ms(session.updated_at)).run());
  cache_.keep_session(RowCache::key_of({session.owner, session.session}), session);
  return {};
}

}  // namespace berth::sqlite
