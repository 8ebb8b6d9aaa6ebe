// Programs with the outcome each must have, written as text. The form is in README.md beside this.
#ifndef BERTH_TESTS_EXECUTION_CASE_FILE_H_
#define BERTH_TESTS_EXECUTION_CASE_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/execution/execution.h"

namespace berth::test {

struct Expectation {
  std::string what;   // "stdout", "exit", ...
  std::string how;    // "is", "has", "lacks", or empty
  std::string value;
  std::size_t line = 0;
};

struct Case {
  std::string name;
  std::string group;             // its class
  std::filesystem::path file;
  std::size_t line = 0;
  bool needs_isolation = false;  // runs only in a real sandbox
  ExecutionRequest request;
  std::vector<Expectation> expectations;
};

// Throws std::runtime_error with file and line for anything it does not understand.
std::vector<Case> read_cases(const std::filesystem::path& folder);

// What does not hold, a sentence each.
std::vector<std::string> check(const Case& wanted, const ExecutionResult& result);

}  // namespace berth::test

#endif  // BERTH_TESTS_EXECUTION_CASE_FILE_H_
