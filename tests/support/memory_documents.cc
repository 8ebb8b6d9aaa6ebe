#include "tests/support/memory_documents.h"

#include <algorithm>

namespace berth::testing {

Result<std::optional<SavedDocument>> MemoryDocuments::document(std::string_view owner,
                                                               std::string_view session,
                                                               std::string_view id) {
  for (const SavedDocument& document : rows_.documents) {
    if (document.id == id && document.owner == owner && document.session == session)
      return document;
  }
  return std::nullopt;
}

Result<std::vector<SavedDocument>> MemoryDocuments::documents(const DocumentFilter& filter) {
  std::vector<SavedDocument> found;
  bool started = filter.after_id.empty();
  for (const SavedDocument& document : rows_.documents) {
    const bool mine = document.owner == filter.owner && document.session == filter.session;
    if (started && mine && found.size() < filter.count_max) found.push_back(document);
    if (document.id == filter.after_id) started = true;
  }
  return found;
}

Result<std::uint64_t> MemoryDocuments::document_count(std::string_view owner,
                                                      std::string_view session) {
  const auto count = std::count_if(rows_.documents.begin(), rows_.documents.end(),
                                   [&](const SavedDocument& document) {
                                     return document.owner == owner && document.session == session;
                                   });
  return static_cast<std::uint64_t>(count);
}

Status MemoryDocuments::insert_document(const SavedDocument& document) {
  for (const SavedDocument& known : rows_.documents) {
    if (known.id == document.id) return fail(ErrorKind::kConflict, "the document exists");
  }
  rows_.documents.push_back(document);
  undo_.push_back([this] { rows_.documents.pop_back(); });
  return {};
}

Result<std::optional<DocumentRevision>> MemoryDocuments::revision(std::string_view document_id,
                                                                  std::string_view revision_id) {
  for (const DocumentRevision& revision : rows_.revisions) {
    if (revision.document_id == document_id && revision.id == revision_id) return revision;
  }
  return std::nullopt;
}

Result<std::optional<DocumentRevision>> MemoryDocuments::latest_revision(
    std::string_view document_id) {
  std::optional<DocumentRevision> latest;
  for (const DocumentRevision& revision : rows_.revisions) {
    if (revision.document_id == document_id && (!latest || revision.number > latest->number))
      latest = revision;
  }
  if (latest) latest->code.clear();
  return latest;
}

Result<std::vector<DocumentRevision>> MemoryDocuments::revisions(std::string_view document_id,
                                                                 std::uint32_t after_number,
                                                                 std::size_t count_max) {
  std::vector<DocumentRevision> found;
  for (const DocumentRevision& revision : rows_.revisions) {
    if (revision.document_id != document_id || revision.number <= after_number) continue;
    if (found.size() == count_max) break;
    found.push_back(revision);
    found.back().code.clear();
  }
  return found;
}

Status MemoryDocuments::insert_revision(const DocumentRevision& revision) {
  const bool has_document =
      std::any_of(rows_.documents.begin(), rows_.documents.end(),
                  [&](const SavedDocument& known) { return known.id == revision.document_id; });
  if (!has_document) return fail(ErrorKind::kNotFound, "the document is missing");
  for (const DocumentRevision& known : rows_.revisions) {
    if (known.id == revision.id ||
        (known.document_id == revision.document_id && known.number == revision.number))
      return fail(ErrorKind::kConflict, "the revision exists");
  }
  rows_.revisions.push_back(revision);
  undo_.push_back([this] { rows_.revisions.pop_back(); });
  return {};
}

Result<std::optional<DocumentRun>> MemoryDocuments::run_of_call(const CallKey& key) {
  for (const DocumentRun& run : rows_.runs) {
    if (run.key == key) return run;
  }
  return std::nullopt;
}

Result<std::vector<DocumentRun>> MemoryDocuments::runs(std::string_view revision_id,
                                                       std::size_t count_max) {
  std::vector<DocumentRun> found;
  for (auto run = rows_.runs.rbegin(); run != rows_.runs.rend(); ++run) {
    if (run->revision_id == revision_id && found.size() < count_max) found.push_back(*run);
  }
  return found;
}

Status MemoryDocuments::insert_run(const DocumentRun& run) {
  const bool has_revision =
      std::any_of(rows_.revisions.begin(), rows_.revisions.end(),
                  [&](const DocumentRevision& known) { return known.id == run.revision_id; });
  if (!has_revision) return fail(ErrorKind::kNotFound, "the revision is missing");
  for (const DocumentRun& known : rows_.runs) {
    if (known.key == run.key) return fail(ErrorKind::kConflict, "the call ran a revision already");
  }
  rows_.runs.push_back(run);
  undo_.push_back([this] { rows_.runs.pop_back(); });
  return {};
}

}  // namespace berth::testing
