// Result documents for the published schema to judge.
#ifndef BERTH_TESTS_EXECUTION_DOCUMENTS_H_
#define BERTH_TESTS_EXECUTION_DOCUMENTS_H_

#include <filesystem>
#include <string>

#include "core/execution/execution.h"

namespace berth::test {

// Writes `result` as a document into FOLDER/good, and variations of it that no result may look like
// into FOLDER/bad.
class Documents {
 public:
  explicit Documents(std::filesystem::path folder);
  void add(const std::string& name, const ExecutionResult& result);

 private:
  std::filesystem::path folder_;
};

}  // namespace berth::test

#endif  // BERTH_TESTS_EXECUTION_DOCUMENTS_H_
