// The rows of saved documents, as an interface that a store implements: documents, their revisions,
// and which call ran which revision.
//
// A revision never changes: its title and its bytes are what runs, now and ever. Rows of one owner
// and session are never given for another.
#ifndef BERTH_CORE_LIFECYCLE_DOCUMENT_ROWS_H_
#define BERTH_CORE_LIFECYCLE_DOCUMENT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/lifecycle/intent.h"

namespace berth {

struct SavedDocument {
  std::string id;  // a UUID, as for revisions
  std::string owner;
  std::string session;
  WallTime created_at;
  friend bool operator==(const SavedDocument&, const SavedDocument&) = default;
};

struct DocumentRevision {
  std::string id;
  std::string document_id;
  std::uint32_t number = 0;  // 1, 2, ... within its document
  std::string title;         // its extension tells the language
  std::string sha256;        // of the code
  std::uint64_t bytes = 0;   // of the code
  WallTime created_at;
  std::string code;  // byte for byte what was saved; empty in lists
  friend bool operator==(const DocumentRevision&, const DocumentRevision&) = default;
};

// A call that was asked to run a revision. The intent of the call, when there is one, says what
// became of it.
struct DocumentRun {
  CallKey key;
  std::string revision_id;
  WallTime at;
  friend bool operator==(const DocumentRun&, const DocumentRun&) = default;
};

// Absent or empty fields do not restrict, but owner and session are required. Oldest first.
struct DocumentFilter {
  std::string owner;
  std::string session;
  std::string after_id = {};  // paging: documents after this one
  std::size_t count_max = 1000;
};

class DocumentRows {
 public:
  virtual ~DocumentRows() = default;

  virtual Result<std::optional<SavedDocument>> document(std::string_view owner,
                                                        std::string_view session,
                                                        std::string_view id) = 0;
  virtual Result<std::vector<SavedDocument>> documents(const DocumentFilter& filter) = 0;
  virtual Result<std::uint64_t> document_count(std::string_view owner,
                                               std::string_view session) = 0;
  // kConflict when the id exists.
  virtual Status insert_document(const SavedDocument& document) = 0;

  // With its code; only when it is one of the document's.
  virtual Result<std::optional<DocumentRevision>> revision(std::string_view document_id,
                                                           std::string_view revision_id) = 0;
  // The one with the highest number, without its code.
  virtual Result<std::optional<DocumentRevision>> latest_revision(std::string_view document_id) = 0;
  // Without code, by number, those above `after_number`.
  virtual Result<std::vector<DocumentRevision>> revisions(std::string_view document_id,
                                                          std::uint32_t after_number,
                                                          std::size_t count_max) = 0;
  // kNotFound without its document, kConflict when the id or the number exists.
  virtual Status insert_revision(const DocumentRevision& revision) = 0;

  virtual Result<std::optional<DocumentRun>> run_of_call(const CallKey& key) = 0;
  // Newest first, those of this revision alone.
  virtual Result<std::vector<DocumentRun>> runs(std::string_view revision_id,
                                                std::size_t count_max) = 0;
  // kNotFound without its revision, kConflict when the call is one of another or the same revision.
  virtual Status insert_run(const DocumentRun& run) = 0;
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_DOCUMENT_ROWS_H_
