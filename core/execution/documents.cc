#include "core/execution/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <cctype>
#include <memory>
#include <utility>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/sha256.h"
#include "core/execution/base64.h"
#include "core/execution/chart.h"

namespace berth {
namespace {

constexpr std::string_view kDisabled = "Document execution is disabled.";
constexpr std::string_view kNoExecutor = "Installed code executor is unavailable.";
constexpr std::string_view kUnsupportedLanguage =
    "Only Python and JavaScript documents can be run.";
constexpr std::string_view kUnsupportedOutput =
    "Execution finished, but its output has an unsupported format.";
// How far back a call without an intent is passed over: refused ones leave none.
constexpr std::size_t kRunsSearchedMax = 256;

Status check_title(const std::string& title) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (is_blank(title)) return fail(ErrorKind::kInvalidArgument, "a document's title is blank");
  if (title.size() > kDocumentTitleBytesMax)
    return fail(ErrorKind::kLimit, fmt::format("a document's title has {} bytes, at most {} are "
                                               "taken",
                                               title.size(), kDocumentTitleBytesMax));
  if (!is_valid_utf8(title) || std::any_of(title.begin(), title.end(), control))
    return fail(ErrorKind::kInvalidArgument,
                "a document's title has control characters or is not valid UTF-8");
  return {};
}

Status check_code(const std::string& code) {
  if (code.size() > kDocumentCodeBytesMax)
    return fail(ErrorKind::kLimit, fmt::format("a document has {} bytes, at most {} are taken",
                                               code.size(), kDocumentCodeBytesMax));
  const std::size_t at = code.find('\0');
  if (at != code.npos)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("a document has a NUL at byte {}; remove it", at));
  return {};
}

Status check_owner(const std::string& owner, const std::string& session) {
  if (is_blank(owner) || is_blank(session))
    return fail(ErrorKind::kInvalidArgument, "owner and session must not be blank");
  return {};
}

tl::unexpected<Error> not_found(const DocumentPlace& place, std::string_view what) {
  return fail(ErrorKind::kNotFound,
              fmt::format("code document not found: owner '{}' has no {} in session '{}'",
                          place.owner, what, place.session));
}

Result<DocumentPlace> checked(DocumentPlace place) {
  BERTH_CHECK_OK(check_owner(place.owner, place.session));
  const auto id = uuid_from(place.document_id);
  if (!id)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("'{}' is not the id of a document, which is a UUID",
                            to_valid_utf8(place.document_id.substr(0, 64))));
  place.document_id = *id;
  return place;
}

Result<std::string> checked_revision(const std::string& text) {
  const auto id = uuid_from(text);
  if (!id)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("'{}' is not the id of a revision, which is a UUID",
                            to_valid_utf8(text.substr(0, 64))));
  return *id;
}

Status check_session_open(Transaction& rows, const std::string& owner, const std::string& session) {
  BERTH_TRY(const std::optional<SessionRecord> record, rows.session(owner, session));
  if (!record || record->state == SessionState::kOpen) return {};
  return fail(ErrorKind::kRefused, fmt::format("session '{}' is {} and takes no document", session,
                                               to_string(record->state)));
}

Status check_document(Transaction& rows, const DocumentPlace& place) {
  BERTH_TRY(const std::optional<SavedDocument> document,
            rows.documents().document(place.owner, place.session, place.document_id));
  if (!document) return not_found(place, "document " + place.document_id);
  return {};
}

Result<DocumentRevision> find_revision(Transaction& rows, const DocumentPlace& place,
                                       std::string revision_id) {
  BERTH_CHECK_OK(check_document(rows, place));
  if (revision_id.empty()) {
    BERTH_TRY(const std::optional<DocumentRevision> latest,
              rows.documents().latest_revision(place.document_id));
    if (!latest) return not_found(place, "document " + place.document_id);
    revision_id = latest->id;
  }
  BERTH_TRY(std::optional<DocumentRevision> found,
            rows.documents().revision(place.document_id, revision_id));
  if (!found)
    return not_found(place,
                     fmt::format("revision {} of document {}", revision_id, place.document_id));
  if (sha256_hex(found->code) != found->sha256)
    return fail(
        ErrorKind::kCorrupt,
        fmt::format("revision {} is not stored as it was saved; restore a backup", found->id));
  return std::move(*found);
}

std::string lower_extension(std::string_view title) {
  const std::size_t dot = title.rfind('.');
  std::string extension(dot == title.npos ? "" : title.substr(dot + 1));
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

// The title where it can be a file's name. Node goes by the extension, and by small letters alone.
std::string file_name_of(const std::string& title, Language language) {
  const std::string extension = lower_extension(title);
  const bool plain = title.find('/') == title.npos && title.front() != '.' &&
                     title.front() != '-' && title.find('.') != title.npos && !extension.empty() &&
                     title.ends_with(extension);
  if (plain) return title;
  if (language == Language::kPython) return "main.py";
  return "main." + extension;
}

// A value that leaves a unit of work, which may run more than once.
template <class T>
Task<Result<T>> read_value(Store& store, std::function<Result<T>(Transaction&)> get) {
  auto found = std::make_shared<std::optional<T>>();
  UnitOfWork work = [found, get = std::move(get)](Transaction& rows) -> Status {
    BERTH_TRY(*found, get(rows));
    return {};
  };
  const Status done = co_await store.read(std::move(work));
  if (!done) co_return fail(done.error());
  co_return std::move(**found);
}

// ---- put

Result<PutResult> put_new(Transaction& rows, const PutDocument& put, DocumentRevision revision) {
  BERTH_TRY(const std::uint64_t count, rows.documents().document_count(put.owner, put.session));
  if (count >= kDocumentsPerSessionMax)
    return fail(
        ErrorKind::kLimit,
        fmt::format("session '{}' has {} documents, which is all it takes", put.session, count));
  BERTH_CHECK_OK(rows.documents().insert_document(
      {revision.document_id, put.owner, put.session, revision.created_at}));
  revision.number = 1;
  BERTH_CHECK_OK(rows.documents().insert_revision(revision));
  return PutResult{std::move(revision), false};
}

Result<PutResult> put_next(Transaction& rows, const PutDocument& put, DocumentRevision revision) {
  const DocumentPlace place{put.owner, put.session, revision.document_id};
  BERTH_CHECK_OK(check_document(rows, place));
  BERTH_TRY(std::optional<DocumentRevision> latest,
            rows.documents().latest_revision(revision.document_id));
  if (!latest) return not_found(place, "document " + place.document_id);
  revision.title = put.title.value_or(latest->title);
  if (latest->title == revision.title && latest->sha256 == revision.sha256)
    return PutResult{std::move(*latest), true};
  if (latest->number >= kDocumentRevisionsMax)
    return fail(
        ErrorKind::kLimit,
        fmt::format("document {} has {} revisions, which is all it takes; put a new document",
                    place.document_id, latest->number));
  revision.number = latest->number + 1;
  BERTH_CHECK_OK(rows.documents().insert_revision(revision));
  return PutResult{std::move(revision), false};
}

Status check_put(PutDocument& put) {
  BERTH_CHECK_OK(check_owner(put.owner, put.session));
  BERTH_CHECK_OK(check_code(put.code));
  if (put.title) BERTH_CHECK_OK(check_title(*put.title));
  if (put.document_id.empty()) {
    if (!put.title) return fail(ErrorKind::kInvalidArgument, "a new document needs a title");
    return {};
  }
  BERTH_TRY(DocumentPlace place, checked({put.owner, put.session, put.document_id}));
  put.document_id = std::move(place.document_id);
  return {};
}

// ---- run

// What the lookup finds; it also records that the call runs the revision.
struct RunLookup {
  DocumentPlace place;
  std::string revision_id;
  CallKey key;
  WallTime now;

  DocumentRevision revision;
  Language language = Language::kPython;

  Status run(Transaction& rows) {
    BERTH_TRY(revision, find_revision(rows, place, revision_id));
    BERTH_TRY(language, language_of_document(revision.title));
    return record(rows);
  }
  Status record(Transaction& rows) {
    BERTH_TRY(const std::optional<DocumentRun> earlier, rows.documents().run_of_call(key));
    if (earlier && earlier->revision_id == revision_id) return {};
    if (earlier)
      return fail(
          ErrorKind::kConflict,
          fmt::format("call '{}' of session '{}' ran revision {} already, which is another; "
                      "take a new call",
                      key.call, key.session, earlier->revision_id));
    BERTH_TRY(const std::optional<Intent> intent, rows.intent_of_call(key));
    if (intent)
      return fail(
          ErrorKind::kConflict,
          fmt::format("call '{}' of session '{}' ran something else already; take a new call",
                      key.call, key.session));
    return rows.documents().insert_run({key, revision_id, now});
  }
};

// A valid chart, or the sentence: what a document leaves is looked at wherever it was run.
void check_output(ExecutionResult& result) {
  const auto valid = [](Chart& chart) {
    if (chart.format == Chart::Format::kPng) return png_size(chart.png).has_value();
    auto checked_chart = validate_chart(chart.data);
    if (!checked_chart) return false;
    chart.data = std::move(*checked_chart);
    return true;
  };
  if (std::all_of(result.charts.begin(), result.charts.end(), valid)) return;
  result.charts.clear();
  result.message = kUnsupportedOutput;
}

ExecutionResult cancelled_before_execution() {
  ExecutionResult result;
  result.status = ExecutionStatus::kCancelled;
  result.message = "cancelled before the document was run";
  result.failure = ExecutionFailure{ExecutionFailure::Kind::kCancelled, result.message};
  return result;
}

ExecutionRequest request_of(ExecutionRequest settings, const RunLookup& found) {
  settings.key = found.key;
  settings.title = found.revision.title;
  settings.code = found.revision.code;
  settings.language = found.language;
  settings.file_name = file_name_of(found.revision.title, found.language);
  return settings;
}

Result<std::optional<RecordedRun>> find_latest_run(Transaction& rows, const DocumentPlace& place,
                                                   const std::string& revision_id) {
  BERTH_TRY(const DocumentRevision revision, find_revision(rows, place, revision_id));
  BERTH_TRY(std::vector<DocumentRun> runs, rows.documents().runs(revision.id, kRunsSearchedMax));
  for (DocumentRun& run : runs) {
    BERTH_TRY(std::optional<Intent> intent, rows.intent_of_call(run.key));
    if (!intent) continue;
    RecordedRun recorded;
    recorded.run = std::move(run);
    recorded.state = intent->state;
    recorded.intent = intent->name;
    BERTH_TRY(recorded.receipt, rows.receipt(intent->name));
    if (intent->result) {
      BERTH_TRY(recorded.result, execution_result_from_json(*intent->result));
      check_output(*recorded.result);
      recorded.result->intent = intent->name;
      recorded.result->receipt = recorded.receipt;
      recorded.result->replayed = true;
    }
    return std::optional<RecordedRun>(std::move(recorded));
  }
  return std::optional<RecordedRun>();
}

}  // namespace

std::string make_uuid() {
  std::string hex = random_hex(16);
  hex[12] = '4';
  constexpr std::string_view kVariants = "89ab";
  const int digit = hex[16] <= '9' ? hex[16] - '0' : hex[16] - 'a' + 10;
  hex[16] = kVariants[static_cast<std::size_t>(digit) & 3];
  for (const std::size_t at : {8U, 13U, 18U, 23U}) hex.insert(at, "-");
  return hex;
}

std::optional<std::string> uuid_from(std::string_view text) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() != kShape.size()) return std::nullopt;
  std::string id;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (kShape[i] == '-' ? c != '-' : std::isxdigit(c) == 0) return std::nullopt;
    id += static_cast<char>(std::tolower(c));
  }
  return id;
}

Result<Language> language_of_document(std::string_view title) {
  if (const auto language = language_of_file(title)) return *language;
  return fail(ErrorKind::kInvalidArgument, std::string(kUnsupportedLanguage));
}

Task<Result<PutResult>> put_document(Store& store, PutDocument put, WallTime now) {
  BERTH_CO_CHECK_OK(check_put(put));
  DocumentRevision revision;
  revision.id = make_uuid();
  revision.document_id = put.document_id.empty() ? make_uuid() : put.document_id;
  revision.title = put.title.value_or("");
  revision.sha256 = sha256_hex(put.code);
  revision.bytes = put.code.size();
  revision.created_at = now;
  revision.code = std::move(put.code);
  auto result = std::make_shared<PutResult>();
  UnitOfWork work = [result, revision, put](Transaction& rows) -> Status {
    BERTH_CHECK_OK(check_session_open(rows, put.owner, put.session));
    if (put.document_id.empty()) {
      BERTH_TRY(*result, put_new(rows, put, revision));
    } else {
      BERTH_TRY(*result, put_next(rows, put, revision));
    }
    return {};
  };
  const Status done = co_await store.commit(std::move(work));
  if (!done) co_return fail(done.error());
  result->revision.code.clear();
  co_return std::move(*result);
}

Task<Result<std::vector<DocumentSummary>>> list_documents(Store& store, DocumentFilter filter) {
  BERTH_CO_CHECK_OK(check_owner(filter.owner, filter.session));
  std::function<Result<std::vector<DocumentSummary>>(Transaction&)> get =
      [filter = std::move(filter)](Transaction& rows) -> Result<std::vector<DocumentSummary>> {
    BERTH_TRY(std::vector<SavedDocument> documents, rows.documents().documents(filter));
    std::vector<DocumentSummary> summaries;
    for (SavedDocument& document : documents) {
      BERTH_TRY(std::optional<DocumentRevision> latest,
                rows.documents().latest_revision(document.id));
      if (latest) summaries.push_back({std::move(document), std::move(*latest)});
    }
    return summaries;
  };
  co_return co_await read_value<std::vector<DocumentSummary>>(store, std::move(get));
}

Task<Result<DocumentRevision>> read_revision(Store& store, DocumentPlace place,
                                             std::string revision_id) {
  BERTH_CO_TRY(place, checked(std::move(place)));
  if (!revision_id.empty()) {
    BERTH_CO_TRY(revision_id, checked_revision(revision_id));
  }
  std::function<Result<DocumentRevision>(Transaction&)> get =
      [place = std::move(place), revision_id = std::move(revision_id)](Transaction& rows) {
        return find_revision(rows, place, revision_id);
      };
  co_return co_await read_value<DocumentRevision>(store, std::move(get));
}

Task<Result<std::vector<DocumentRevision>>> list_revisions(Store& store, DocumentPlace place,
                                                           std::uint32_t after_number,
                                                           std::size_t count_max) {
  BERTH_CO_TRY(place, checked(std::move(place)));
  std::function<Result<std::vector<DocumentRevision>>(Transaction&)> get =
      [place = std::move(place), after_number,
       count_max](Transaction& rows) -> Result<std::vector<DocumentRevision>> {
    BERTH_CHECK_OK(check_document(rows, place));
    return rows.documents().revisions(place.document_id, after_number, count_max);
  };
  co_return co_await read_value<std::vector<DocumentRevision>>(store, std::move(get));
}

Task<Result<DocumentExecution>> run_document(Store& store, DocumentPolicy policy, RunDocument run,
                                             DocumentExecutor executor, Cancellation& cancellation,
                                             WallTime now) {
  if (!policy.enabled) co_return fail(ErrorKind::kRefused, std::string(kDisabled));
  auto found = std::make_shared<RunLookup>();
  BERTH_CO_TRY(found->place, checked(std::move(run.place)));
  BERTH_CO_TRY(found->revision_id, checked_revision(run.revision_id));
  found->key = {found->place.owner, found->place.session, run.settings.key.call};
  if (is_blank(found->key.call)) co_return fail(ErrorKind::kInvalidArgument, "the call is blank");
  found->now = now;
  UnitOfWork work = [found](Transaction& rows) { return found->run(rows); };
  const Status done = co_await store.commit(std::move(work));
  if (!done) co_return fail(done.error());
  DocumentExecution execution;
  execution.language = found->language;
  execution.revision = found->revision;
  if (cancellation.requested()) {
    execution.result = cancelled_before_execution();
    co_return execution;
  }
  if (!policy.execution_allowed || !executor)
    co_return fail(ErrorKind::kUnavailable, std::string(kNoExecutor));
  auto ran = co_await executor(request_of(std::move(run.settings), *found));
  if (!ran) co_return fail(std::move(ran).error());
  execution.result = std::move(*ran);
  check_output(execution.result);
  co_return execution;
}

Task<Result<std::optional<RecordedRun>>> latest_run(Store& store, DocumentPlace place,
                                                    std::string revision_id) {
  BERTH_CO_TRY(place, checked(std::move(place)));
  BERTH_CO_TRY(revision_id, checked_revision(revision_id));
  std::function<Result<std::optional<RecordedRun>>(Transaction&)> get =
      [place = std::move(place), revision_id = std::move(revision_id)](Transaction& rows) {
        return find_latest_run(rows, place, revision_id);
      };
  co_return co_await read_value<std::optional<RecordedRun>>(store, std::move(get));
}

boost::json::object to_json(const DocumentRevision& revision) {
  const auto language = language_of_file(revision.title);
  boost::json::object out;
  out["document_id"] = revision.document_id;
  out["revision_id"] = revision.id;
  out["revision"] = revision.number;
  out["title"] = revision.title;
  out["language"] = nullptr;
  if (language) out["language"] = to_string(*language);
  out["bytes"] = revision.bytes;
  out["sha256"] = revision.sha256;
  out["created_at"] = to_rfc3339(revision.created_at);
  return out;
}

void add_code(boost::json::object& object, const std::string& code) {
  if (is_valid_utf8(code)) {
    object["code"] = code;
  } else {
    object["code_base64"] = to_base64(code);
  }
}

boost::json::object document_members(const DocumentExecution& execution) {
  boost::json::object out;
  out["document_id"] = execution.revision.document_id;
  out["revision_id"] = execution.revision.id;
  out["title"] = execution.revision.title;
  out["language"] = to_string(execution.language);
  add_code(out, execution.revision.code);
  return out;
}

}  // namespace berth
