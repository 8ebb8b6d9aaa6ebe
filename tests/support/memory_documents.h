// The rows of saved documents over plain vectors.
#ifndef BERTH_TESTS_SUPPORT_MEMORY_DOCUMENTS_H_
#define BERTH_TESTS_SUPPORT_MEMORY_DOCUMENTS_H_

#include <functional>
#include <vector>

#include "core/lifecycle/document_rows.h"

namespace berth::testing {

struct MemoryDocumentRows {
  std::vector<SavedDocument> documents;
  std::vector<DocumentRevision> revisions;
  std::vector<DocumentRun> runs;
};

// Changes the rows at once and leaves in `undo` how to take it back; both are borrowed.
class MemoryDocuments final : public DocumentRows {
 public:
  using Undo = std::vector<std::function<void()>>;
  MemoryDocuments(MemoryDocumentRows& rows, Undo& undo) : rows_(rows), undo_(undo) {}

  Result<std::optional<SavedDocument>> document(std::string_view owner, std::string_view session,
                                                std::string_view id) override;
  Result<std::vector<SavedDocument>> documents(const DocumentFilter& filter) override;
  Result<std::uint64_t> document_count(std::string_view owner, std::string_view session) override;
  Status insert_document(const SavedDocument& document) override;
  Result<std::optional<DocumentRevision>> revision(std::string_view document_id,
                                                   std::string_view revision_id) override;
  Result<std::optional<DocumentRevision>> latest_revision(std::string_view document_id) override;
  Result<std::vector<DocumentRevision>> revisions(std::string_view document_id,
                                                  std::uint32_t after_number,
                                                  std::size_t count_max) override;
  Status insert_revision(const DocumentRevision& revision) override;
  Result<std::optional<DocumentRun>> run_of_call(const CallKey& key) override;
  Result<std::vector<DocumentRun>> runs(std::string_view revision_id,
                                        std::size_t count_max) override;
  Status insert_run(const DocumentRun& run) override;

 private:
  MemoryDocumentRows& rows_;
  Undo& undo_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_SUPPORT_MEMORY_DOCUMENTS_H_
