// Saved documents: programs that are kept, revision by revision, and run by their ids alone.
//
// What runs is the stored revision, byte for byte, in the language its title tells; no text can be
// supplied beside the ids. Another owner's or session's document does not exist for the caller.
// Everything here runs on the event loop's thread; the store is borrowed for the call.
#ifndef BERTH_CORE_EXECUTION_DOCUMENTS_H_
#define BERTH_CORE_EXECUTION_DOCUMENTS_H_

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/execution/execution.h"
#include "core/lifecycle/document_rows.h"

namespace berth {

inline constexpr std::size_t kDocumentCodeBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kDocumentTitleBytesMax = 255;
inline constexpr std::uint32_t kDocumentRevisionsMax = 10'000;
inline constexpr std::uint64_t kDocumentsPerSessionMax = 10'000;

// A random UUID of version 4, lower case. Any thread.
std::string make_uuid();
// "8-4-4-4-12" hexadecimal digits, in lower case; nothing when it is no UUID.
std::optional<std::string> uuid_from(std::string_view text);

// Language by the extension of a title, in any case: .py; .js .mjs .cjs; none means Python.
// Anything else is kInvalidArgument: only Python and JavaScript documents can be run.
Result<Language> language_of_document(std::string_view title);

struct PutDocument {
  std::string owner;
  std::string session;
  std::string document_id;           // empty: a new document
  std::optional<std::string> title;  // absent: as the latest revision; a new document needs one
  std::string code;
};

struct PutResult {
  DocumentRevision revision;  // without its code
  // The latest revision has this title and these bytes already, so it is the answer and nothing was
  // written: putting the same twice is safe.
  bool unchanged = false;
};

// A new document, or a new revision of one. kInvalidArgument and kLimit name what is wrong with it,
// kNotFound a document that this owner and session do not have, kRefused a session that is retired.
Task<Result<PutResult>> put_document(Store& store, PutDocument put, WallTime now);

struct DocumentSummary {
  SavedDocument document;
  DocumentRevision latest;  // without its code; its number is the count of revisions
};

// Oldest first.
Task<Result<std::vector<DocumentSummary>>> list_documents(Store& store, DocumentFilter filter);

// Which document, of whom. Ids may be in any case.
struct DocumentPlace {
  std::string owner;
  std::string session;
  std::string document_id;
};

// One revision with its code; an empty id stands for the latest. kNotFound covers every way in
// which it is not there for this owner and session.
Task<Result<DocumentRevision>> read_revision(Store& store, DocumentPlace place,
                                             std::string revision_id);
// Without code, by number, those above `after_number`.
Task<Result<std::vector<DocumentRevision>>> list_revisions(Store& store, DocumentPlace place,
                                                           std::uint32_t after_number,
                                                           std::size_t count_max);

// What a host allows, and when it is asked.
struct DocumentPolicy {
  bool enabled = true;            // false: refused before any document is looked at
  bool execution_allowed = true;  // false: refused once the revision is found
};

// Runs what it is given, and nothing else; called at most once. Empty: no executor is installed. An
// error is passed on as it is.
using DocumentExecutor = std::function<Task<Result<ExecutionResult>>(ExecutionRequest)>;

struct RunDocument {
  DocumentPlace place;
  std::string revision_id;
  // Call, turn, limits, network, timeout and what is kept of output. Its code, title, language and
  // file name are not read: they are the revision's.
  ExecutionRequest settings;
};

struct DocumentExecution {
  DocumentRevision revision;
  Language language = Language::kPython;
  ExecutionResult result;
};

// Finds the revision, records that this call runs it, and runs it. An error: nothing was executed,
// or the executor's own. A call that is known as another revision's or as no document's is
// kConflict. Cancelled during the lookup, the result says so and nothing was executed.
Task<Result<DocumentExecution>> run_document(Store& store, DocumentPolicy policy, RunDocument run,
                                             DocumentExecutor executor, Cancellation& cancellation,
                                             WallTime now);

// What was recorded of a run.
struct RecordedRun {
  DocumentRun run;
  IntentState state = IntentState::kIntended;
  std::optional<Receipt> receipt;
  std::optional<ExecutionResult> result;  // absent: none was kept
  std::string intent;                     // the intent's name
};

// The latest execution of exactly this revision; nothing when it was never executed.
Task<Result<std::optional<RecordedRun>>> latest_run(Store& store, DocumentPlace place,
                                                    std::string revision_id);

boost::json::object to_json(const DocumentRevision& revision);
// What a run of a document adds to its result's own document: "document_id", "revision_id",
// "title", "language" and "code".
boost::json::object document_members(const DocumentExecution& execution);
// "code", the text; "code_base64" instead when it is not valid UTF-8.
void add_code(boost::json::object& object, const std::string& code);

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_DOCUMENTS_H_
