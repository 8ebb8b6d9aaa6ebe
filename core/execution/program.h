// One program's way through a confirmed sandbox: sent, installed for, run, collected.
#ifndef BERTH_CORE_EXECUTION_PROGRAM_H_
#define BERTH_CORE_EXECUTION_PROGRAM_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/execution/execution.h"
#include "core/execution/output.h"
#include "core/execution/records.h"
#include "core/execution/source.h"

namespace berth {

class Clock;

// Takes what a program prints: counts and keeps it, and passes it on while somebody watches.
class ProgramOutput : public OutputSink {
 public:
  ProgramOutput(std::uint64_t stdout_keep, std::uint64_t stderr_keep, ExecutionObserver* observer);

  Flow write(Stream stream, std::string_view bytes) override;
  void on_resume(std::function<void()> resume) override;

  // The program's end: unfinished characters come out as they are.
  void finish();
  // A line that the host adds to standard output.
  void show(std::string_view line);
  // Nobody watches any more.
  void close() { observer_ = nullptr; }
  OutputText text(Stream stream) const { return at(stream).kept.text(); }
  // What was kept, once more for `observer`.
  void repeat_to(ExecutionObserver* observer) const;

 private:
  struct Side {
    KeptOutput kept;
    CharacterCutter cutter;
  };
  const Side& at(Stream stream) const { return sides_[stream == Stream::kStderr ? 1 : 0]; }
  Side& at(Stream stream) { return sides_[stream == Stream::kStderr ? 1 : 0]; }
  Flow pass_on(Stream stream, std::string_view raw);

  std::array<Side, 2> sides_;
  ExecutionObserver* observer_;
};

// Lives until the body has ended; the caller of execute() holds it too.
class Program {
 public:
  // `root` is a folder of the sandbox that the program can write to.
  Program(const Clock& clock, ExecutionRequest request, ExecutionObserver* observer,
          const std::string& root = "/tmp");

  const ExecutionRequest& request() const { return request_; }
  // The body of with_sandbox. At most once.
  Task<BodyResult> run(Sandbox& sandbox);
  // What is known now, be the body finished or not. Ends what observers see of the run.
  ExecutionResult take_result();

 private:
  struct Paths {
    std::string folder;   // private to this run
    std::string work;     // where the source and its files lie; the program's working folder
    std::string source;
    std::string harness;
    std::string records;
  };

  Task<Status> send(Sandbox& sandbox);
  Task<Status> put(Sandbox& sandbox, std::string path, std::string_view contents);
  // True when the program may start.
  Task<Result<bool>> install(Sandbox& sandbox);
  Task<Status> start(Sandbox& sandbox);
  Task<Status> collect(Sandbox& sandbox);
  Command command() const;
  Command install_command(const std::string& mode) const;
  Environment environment() const;
  // Whether something is, or may have to be, installed before the program starts.
  bool installs() const { return !source_.installs.empty() || !base_packages_.empty(); }
  Task<Answer<RunEnd>> run_installer(Sandbox& sandbox, ProgramOutput& said);
  void take_failed_install(const RunEnd& end, const ProgramOutput& said);
  void add_timing(Sandbox& sandbox, std::string_view phase, Instant since);
  void take_end(const RunEnd& end);
  void take_records(ProgramRecords records);
  BodyResult failed(const Error& error);

  const Clock& clock_;
  ExecutionRequest request_;
  ExecutionObserver* observer_;
  PreparedSource source_;
  // Imported ones that are installed when the image lacks them and there is an index.
  std::vector<std::string> base_packages_;
  std::string nonce_;
  Paths paths_;
  ProgramOutput output_;
  ExecutionResult result_;
  std::optional<RunEnd> end_;
};

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_PROGRAM_H_
