// A Sandbox made of plain processes in a temporary folder: no isolation at all. For tests of what
// rides along with a program, never for programs of others.
#ifndef BERTH_TESTS_UNIT_EXECUTION_PROCESS_SANDBOX_H_
#define BERTH_TESTS_UNIT_EXECUTION_PROCESS_SANDBOX_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/execution/execution.h"

namespace berth::test {

// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class ProcessSandbox : public Sandbox {
 public:
  const ProviderIdentity& provider() const override { return identity_; }
  Task<Answer<RunEnd>> run(Command command, OutputSink& output) override;
  Task<Answer<Nothing>> put_file(PutFile file, InputSource& input) override;
  Task<Answer<FileGot>> get_file(GetFile file, OutputSink& output) override;
  void add_timing(std::string_view phase, Duration took) override;

  const std::vector<std::string>& phases() const { return phases_; }

 private:
  ProviderIdentity identity_;
  std::vector<std::string> phases_;
};

// What came out of one program.
struct ProgramRun {
  BodyResult body;
  ExecutionResult result;  // as read back from the document
};

// Runs a request's program in `folder` with plain processes. The caller sees the same as from
// execute(), but for what only the lifecycle knows.
ProgramRun run_program(ExecutionRequest request, const std::filesystem::path& folder,
                       ExecutionObserver* observer = nullptr);
ProgramRun run_program(ExecutionRequest request, ExecutionObserver* observer = nullptr);
ProgramRun run_python(std::string code);
ProgramRun run_javascript(std::string code);

// Runs a task to its end on a loop of its own.
BodyResult run_task(Task<BodyResult> task);

}  // namespace berth::test

#endif  // BERTH_TESTS_UNIT_EXECUTION_PROCESS_SANDBOX_H_
