// The code-execution tool: one program, run whole in a sandbox of its own, with a result that a
// model and a person can read.
//
// execute() is the only way in. It runs on the event loop's thread; everything here is plain data
// that the caller owns. What the program could have written (text, result, charts, error) is
// bounded, valid UTF-8 and validated; exit, signal, cause, timings and receipt come from the
// provider and the lifecycle and never from the program.
#ifndef BERTH_CORE_EXECUTION_EXECUTION_H_
#define BERTH_CORE_EXECUTION_EXECUTION_H_

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/accounting/receipt.h"
#include "core/base/result.h"
#include "core/base/task.h"
#include "core/base/time.h"
#include "core/execution/install/package_index.h"
#include "core/lifecycle/with_sandbox.h"

namespace berth {

enum class Language { kPython, kJavascript };
std::string_view to_string(Language language);                    // "python", "javascript"
std::optional<Language> language_from(std::string_view text);     // those two words
// By a file name's extension: .py; .js .mjs .cjs; none means Python. Anything else: nullopt.
std::optional<Language> language_of_file(std::string_view file_name);

// A file that the program finds in its work folder, before it starts.
struct RequestFile {
  std::string name;      // plain, without '/'; not the name of the source
  std::string contents;  // all files together at most 64 MiB
};

struct ExecutionRequest {
  std::string title;                     // a label for people; decides nothing
  std::string code;                      // the source, byte for byte; no NUL; at most 16 MiB
  Language language = Language::kPython;
  // The name the source is compiled under; empty: main.py or main.js. A plain name without '/'.
  std::string file_name;
  std::vector<std::string> arguments;    // the program's own, after its name
  std::string input;                     // standard input; empty: at its end at once
  std::vector<RequestFile> files;        // at most 64
  Environment env;                       // added to the sandbox's, for installs as for the program
  Network network = Network::kNone;
  Limits limits;
  std::vector<std::string> packages;     // requirements installed before a Python program starts
  // The host's own configuration, no part of what the caller asks for: a replay does not compare it.
  // Null: packages come from what the image and the network of the sandbox offer.
  std::shared_ptr<const PackageIndex> index;
  // The host's word too: the provider that only simulates running it, by its id; empty: it runs programs.
  std::string simulated_by = {};
  std::string image;                     // empty: the provider's default
  Duration timeout{0};                   // of the program alone; 0: the application deadline only
  std::uint64_t stdout_keep_bytes = std::uint64_t{1} << 20;  // kept of each stream, head and tail
  std::uint64_t stderr_keep_bytes = std::uint64_t{1} << 20;

  CallKey key;       // owner, session, call: all required
  std::string turn;  // empty: the call
  // The application that has selected the provider, as in SandboxRequest; empty: no selection. No part
  // of what is compared when a call is repeated.
  std::string application = {};
};

// The name the source gets in its work folder.
std::string source_name(const ExecutionRequest& request);
// What is wrong with a request, before anything is reserved.
Status validate(const ExecutionRequest& request);
// The whole request but its owner, session, call and turn as canonical JSON. Its SHA-256 is the
// spec digest that tells a replay from a conflict.
std::string canonical_request(const ExecutionRequest& request);

enum class ExecutionStatus {
  kCompleted,            // the program ran and ended with 0
  kFailed,               // the program's own doing: exit code, signal, a limit, a failed install
  kCancelled,            // by the caller
  kInfrastructureError,  // anything else, the application deadline and a refusal included
};
std::string_view to_string(ExecutionStatus status);

// One stream as kept. `text` is valid UTF-8; what was left out of the middle is replaced by one line
// that says how many bytes are missing.
struct OutputText {
  std::string text;
  std::uint64_t bytes = 0;          // produced, kept or not
  bool truncated = false;
  std::uint64_t omitted_bytes = 0;  // of `bytes`
};

// The value a program left: of `result`, else `results`, or (JavaScript) what it returned.
struct ResultValue {
  std::string name;                        // "result", "results" or "return"
  std::string text;                        // the way print or console.log shows it
  bool truncated = false;                  // the text is only its beginning
  std::optional<boost::json::value> json;  // when the value is JSON
};

struct Chart {
  enum class Format { kInteractive, kPng };
  Format format = Format::kPng;
  boost::json::value data;   // kInteractive: the validated dictionary
  std::string png;           // kPng: the file
  std::uint32_t width = 0;   // pixels, kPng
  std::uint32_t height = 0;
  std::string label;         // the figure's label or number; may be empty
};

struct ProgramError {
  std::string name;       // "ValueError"
  std::string value;      // its text
  std::string traceback;  // the program's own frames only
};

// Why there is no program's end to report, or why one does not count.
struct ExecutionFailure {
  enum class Kind {
    kInvalidRequest,  // refused before anything was reserved
    kRefused,         // conflict, unresolved earlier call, billing, provider's refusal
    kUncertain,       // a sandbox may exist; its intent is retained
    kDeadline,        // the application deadline passed
    kInfrastructure,
    kCancelled,
  };
  Kind kind = Kind::kInfrastructure;
  std::string message;
};
std::string_view to_string(ExecutionFailure::Kind kind);

struct ExecutionResult {
  ExecutionStatus status = ExecutionStatus::kInfrastructureError;
  std::string message;  // what a model reads
  OutputText stdout_text;
  OutputText stderr_text;
  std::optional<ResultValue> result;
  // Every chart in order: the interactive one first when there is one, then the figures. The
  // preferred one is the first.
  std::vector<Chart> charts;
  std::optional<ProgramError> error;
  std::vector<std::string> notes;  // what was left out and why, a sentence each
  std::optional<int> exit_code;
  std::optional<int> signal;
  Cause cause = Cause::kUnknown;
  // Microseconds by phase: reserve, create, install, run, collect, cleanup; those that happened.
  std::vector<std::pair<std::string, std::int64_t>> timings_us;
  std::optional<Receipt> receipt;
  std::optional<ExecutionFailure> failure;  // absent: the program's end is what is reported
  bool replayed = false;
  bool simulated = false;  // no program was run: the provider is one that only simulates
  std::string intent;  // the intent's name; empty when none was written

  const Chart* chart() const { return charts.empty() ? nullptr : &charts.front(); }
};

// What owner, session, call and turn may consist of: valid UTF-8 without control characters, since they
// are shown to people as they are.
bool is_name_text(std::string_view text);

// The result document of manifests/execution-result.schema.json, and parts of it.
boost::json::object to_json(const ExecutionResult& result);
boost::json::object to_json(const Chart& chart);
boost::json::object to_json(const ResultValue& value);
// A document that to_json made; receipt, failure, intent and replayed are the caller's to fill in.
Result<ExecutionResult> execution_result_from_json(std::string_view document);

// One piece of a stream: whole characters, so that pieces can be shown as they come.
struct OutputChunk {
  Stream stream = Stream::kStdout;
  std::string_view text;        // valid UTF-8
  std::uint64_t raw_bytes = 0;  // of the program's output that this stands for
  std::string_view raw;         // those bytes as the program wrote them
};

// Sees an execution while it happens. Called on the loop's thread; must not block and must outlive
// execute(). Order: started, then stages and output, then charts, result, finished.
class ExecutionObserver {
 public:
  enum class Flow { kContinue, kPause };

  virtual ~ExecutionObserver() = default;
  // The intent is reserved and the sandbox confirmed; the program is about to be sent.
  virtual void on_started() {}
  virtual void on_stage(std::string_view stage) { (void)stage; }
  // kPause: taken, but send no more until the function given to on_resume is called; the program
  // waits meanwhile. Output is streamed whole, whatever is kept of it.
  virtual Flow on_output(const OutputChunk& chunk) {
    (void)chunk;
    return Flow::kContinue;
  }
  virtual void on_resume(std::function<void()> resume) { (void)resume; }
  virtual void on_chart(const Chart& chart) { (void)chart; }
  virtual void on_result(const ResultValue& value) { (void)value; }
  virtual void on_finished(const ExecutionResult& result) { (void)result; }
};

// Runs one request, whole. Returns when the sandbox is confirmed gone or what is retained is named.
// A value that the program left in `result` is also shown at the end of its standard output, on a
// line of its own, as print would show it. `observer` may be null. Safe to run many at once.
Task<ExecutionResult> execute(LifecycleServices& services, ExecutionRequest request,
                              ExecutionObserver* observer, Cancellation& cancellation);

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_EXECUTION_H_
