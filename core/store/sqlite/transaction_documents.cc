#include <fmt/format.h>

#include <utility>

#include "core/store/sqlite/transaction.h"

namespace berth::sqlite {
namespace {

#define BERTH_REVISION_COLUMNS \
  "v.id, d.id, v.number, v.title, v.sha256, length(v.code), v.created_at"
#define BERTH_REVISION_FROM " FROM document_revisions v JOIN documents d ON d.seq = v.document "

DocumentRevision revision_row(Statement& row) {
  DocumentRevision revision;
  revision.id = row.next_text();
  revision.document_id = row.next_text();
  revision.number = static_cast<std::uint32_t>(row.next_integer());
  revision.title = row.next_text();
  revision.sha256 = row.next_text();
  revision.bytes = static_cast<std::uint64_t>(row.next_integer());
  revision.created_at = wall_time_from_unix_ms(row.next_integer());
  return revision;
}

DocumentRun run_row(Statement& row) {
  DocumentRun run;
  run.key.owner = row.next_text();
  run.key.session = row.next_text();
  run.key.call = row.next_text();
  run.revision_id = row.next_text();
  run.at = wall_time_from_unix_ms(row.next_integer());
  return run;
}

}  // namespace

Result<std::optional<SavedDocument>> SqliteTransaction::document(std::string_view owner,
                                                                 std::string_view session,
                                                                 std::string_view id) {
  return noted([&]() -> Result<std::optional<SavedDocument>> {
    BERTH_TRY(Statement find, connection_.use("SELECT created_at FROM documents WHERE id = ? AND "
                                              "owner = ? AND session = ?"));
    BERTH_TRY(const bool row, find.text(id).text(owner).text(session).step());
    if (!row) return std::optional<SavedDocument>();
    SavedDocument document;
    document.id = id;
    document.owner = owner;
    document.session = session;
    document.created_at = wall_time_from_unix_ms(find.next_integer());
    return std::optional<SavedDocument>(std::move(document));
  }());
}

Result<std::vector<SavedDocument>> SqliteTransaction::documents(const DocumentFilter& filter) {
  return noted([&]() -> Result<std::vector<SavedDocument>> {
    std::int64_t after = 0;
    if (!filter.after_id.empty()) {
      BERTH_TRY(Statement find,
                connection_.use("SELECT seq FROM documents WHERE id = ? AND owner = "
                                "? AND session = ?"));
      BERTH_TRY(const bool row,
                find.text(filter.after_id).text(filter.owner).text(filter.session).step());
      if (!row)
        return fail(ErrorKind::kNotFound,
                    fmt::format("no document has the id {} to go on from", filter.after_id));
      after = find.next_integer();
    }
    BERTH_TRY(
        Statement rows,
        connection_.use("SELECT id, created_at FROM documents WHERE owner = ? AND session = ? "
                        "AND seq > ? ORDER BY seq LIMIT ?"));
    rows.text(filter.owner).text(filter.session).integer(after);
    rows.integer(static_cast<std::int64_t>(filter.count_max));
    std::vector<SavedDocument> found;
    for (;;) {
      BERTH_TRY(const bool row, rows.step());
      if (!row) return found;
      SavedDocument document;
      document.id = rows.next_text();
      document.owner = filter.owner;
      document.session = filter.session;
      document.created_at = wall_time_from_unix_ms(rows.next_integer());
      found.push_back(std::move(document));
    }
  }());
}

Result<std::uint64_t> SqliteTransaction::document_count(std::string_view owner,
                                                        std::string_view session) {
  return noted([&]() -> Result<std::uint64_t> {
    BERTH_TRY(Statement count, connection_.use("SELECT count(*) FROM documents WHERE owner = ? AND "
                                               "session = ?"));
    BERTH_TRY([[maybe_unused]] const bool row, count.text(owner).text(session).step());
    return static_cast<std::uint64_t>(count.next_integer());
  }());
}

Status SqliteTransaction::insert_document(const SavedDocument& document) {
  return noted([&]() -> Status {
    BERTH_CHECK_OK(begin_write());
    BERTH_TRY(
        Statement insert,
        connection_.use("INSERT INTO documents (id, owner, session, created_at) VALUES (?, ?, "
                        "?, ?) ON CONFLICT (id) DO NOTHING"));
    insert.text(document.id).text(document.owner).text(document.session);
    BERTH_TRY(const std::int64_t changed, insert.integer(unix_ms(document.created_at)).run());
    if (changed != 1)
      return fail(ErrorKind::kConflict, fmt::format("document {} exists already", document.id));
    return {};
  }());
}

Result<std::optional<DocumentRevision>> SqliteTransaction::revision(std::string_view document_id,
                                                                    std::string_view revision_id) {
  return noted([&]() -> Result<std::optional<DocumentRevision>> {
    BERTH_TRY(Statement find,
              connection_.use("SELECT " BERTH_REVISION_COLUMNS ", v.code" BERTH_REVISION_FROM
                              "WHERE v.id = ? AND d.id = ?"));
    BERTH_TRY(const bool row, find.text(revision_id).text(document_id).step());
    if (!row) return std::optional<DocumentRevision>();
    DocumentRevision revision = revision_row(find);
    revision.code = find.next_text();
    return std::optional<DocumentRevision>(std::move(revision));
  }());
}

Result<std::optional<DocumentRevision>> SqliteTransaction::latest_revision(
    std::string_view document_id) {
  return noted([&]() -> Result<std::optional<DocumentRevision>> {
    BERTH_TRY(Statement find, connection_.use("SELECT " BERTH_REVISION_COLUMNS BERTH_REVISION_FROM
                                              "WHERE d.id = ? ORDER BY v.number DESC LIMIT 1"));
    BERTH_TRY(const bool row, find.text(document_id).step());
    if (!row) return std::optional<DocumentRevision>();
    return std::optional<DocumentRevision>(revision_row(find));
  }());
}

Result<std::vector<DocumentRevision>> SqliteTransaction::revisions(std::string_view document_id,
                                                                   std::uint32_t after_number,
                                                                   std::size_t count_max) {
  return noted([&]() -> Result<std::vector<DocumentRevision>> {
    BERTH_TRY(Statement rows,
              connection_.use("SELECT " BERTH_REVISION_COLUMNS BERTH_REVISION_FROM
                              "WHERE d.id = ? AND v.number > ? ORDER BY v.number LIMIT ?"));
    rows.text(document_id).integer(std::int64_t{after_number});
    rows.integer(static_cast<std::int64_t>(count_max));
    std::vector<DocumentRevision> found;
    for (;;) {
      BERTH_TRY(const bool row, rows.step());
      if (!row) return found;
      found.push_back(revision_row(rows));
    }
  }());
}

Status SqliteTransaction::insert_revision(const DocumentRevision& revision) {
  return noted([&]() -> Status {
    BERTH_CHECK_OK(begin_write());
    BERTH_TRY(Statement find, connection_.use("SELECT seq FROM documents WHERE id = ?"));
    BERTH_TRY(const bool row, find.text(revision.document_id).step());
    if (!row)
      return fail(ErrorKind::kNotFound,
                  fmt::format("no document has the id {}", revision.document_id));
    const std::int64_t document = find.next_integer();
    BERTH_TRY(
        Statement insert,
        connection_.use("INSERT INTO document_revisions (id, document, number, title, sha256, "
                        "created_at, code) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO "
                        "NOTHING"));
    insert.text(revision.id).integer(document).integer(std::int64_t{revision.number});
    insert.text(revision.title).text(revision.sha256).integer(unix_ms(revision.created_at));
    BERTH_TRY(const std::int64_t changed, insert.bytes(revision.code).run());
    if (changed != 1)
      return fail(ErrorKind::kConflict, fmt::format("revision {} of document {} exists already",
                                                    revision.number, revision.document_id));
    return {};
  }());
}

Result<std::optional<DocumentRun>> SqliteTransaction::run_of_call(const CallKey& key) {
  return noted([&]() -> Result<std::optional<DocumentRun>> {
    BERTH_TRY(
        Statement find,
        connection_.use("SELECT r.owner, r.session, r.call, v.id, r.at FROM document_runs r "
                        "JOIN document_revisions v ON v.seq = r.revision WHERE r.owner = ? AND "
                        "r.session = ? AND r.call = ?"));
    BERTH_TRY(const bool row, find.text(key.owner).text(key.session).text(key.call).step());
    if (!row) return std::optional<DocumentRun>();
    return std::optional<DocumentRun>(run_row(find));
  }());
}

Result<std::vector<DocumentRun>> SqliteTransaction::runs(std::string_view revision_id,
                                                         std::size_t count_max) {
  return noted([&]() -> Result<std::vector<DocumentRun>> {
    BERTH_TRY(
        Statement rows,
        connection_.use("SELECT r.owner, r.session, r.call, v.id, r.at FROM document_revisions "
                        "v JOIN document_runs r ON r.revision = v.seq WHERE v.id = ? ORDER BY "
                        "r.seq DESC LIMIT ?"));
    rows.text(revision_id).integer(static_cast<std::int64_t>(count_max));
    std::vector<DocumentRun> found;
    for (;;) {
      BERTH_TRY(const bool row, rows.step());
      if (!row) return found;
      found.push_back(run_row(rows));
    }
  }());
}

Status SqliteTransaction::insert_run(const DocumentRun& run) {
  return noted([&]() -> Status {
    BERTH_CHECK_OK(begin_write());
    BERTH_TRY(Statement find, connection_.use("SELECT seq FROM document_revisions WHERE id = ?"));
    BERTH_TRY(const bool row, find.text(run.revision_id).step());
    if (!row)
      return fail(ErrorKind::kNotFound, fmt::format("no revision has the id {}", run.revision_id));
    const std::int64_t revision = find.next_integer();
    BERTH_TRY(
        Statement insert,
        connection_.use("INSERT INTO document_runs (owner, session, call, revision, at) VALUES "
                        "(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"));
    insert.text(run.key.owner).text(run.key.session).text(run.key.call).integer(revision);
    BERTH_TRY(const std::int64_t changed, insert.integer(unix_ms(run.at)).run());
    if (changed != 1)
      return fail(ErrorKind::kConflict,
                  fmt::format("call {} of session {} is recorded with a revision already",
                              run.key.call, run.key.session));
    return {};
  }());
}

}  // namespace berth::sqlite
