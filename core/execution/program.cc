#include "core/execution/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/execution/document.h"
#include "core/execution/harness.h"
#include "core/execution/install/base_packages.h"
#include "core/execution/install/relay.h"
#include "core/execution/message.h"
#include "core/lifecycle/clock.h"

namespace berth {
namespace {

constexpr std::uint64_t kInstallKeepBytes = std::uint64_t{128} << 10;

// Bytes that are already there.
class BytesSource : public InputSource {
 public:
  explicit BytesSource(std::string_view bytes) : rest_(bytes) {}

  State read(std::string& into, std::size_t bytes_max) override {
    if (rest_.empty()) return State::kEnd;
    const std::string_view piece = rest_.substr(0, bytes_max);
    into.append(piece);
    rest_.remove_prefix(piece.size());
    return State::kData;
  }
  void on_ready(std::function<void()>) override {}

 private:
  std::string_view rest_;
};

// A file that must stay within a bound.
class BoundedFile : public OutputSink {
 public:
  explicit BoundedFile(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  Flow write(Stream stream, std::string_view bytes) override {
    if (stream != Stream::kFile || over_) return Flow::kContinue;
    if (bytes.size() > bytes_max_ - contents_.size()) {
      over_ = true;
      return Flow::kLimit;
    }
    contents_.append(bytes);
    return Flow::kContinue;
  }
  void on_resume(std::function<void()>) override {}

  bool over() const { return over_; }
  const std::string& contents() const { return contents_; }

 private:
  std::size_t bytes_max_;
  bool over_ = false;
  std::string contents_;
};

std::string describe(const Outcome& outcome) {
  return fmt::format("{} ({}){}{}", to_string(outcome.outcome_class), to_string(outcome.code),
                     outcome.message.empty() ? "" : ": ", to_valid_utf8(outcome.message));
}

// A refusal to read the program's own file says something about the file, not about the provider.
bool is_about_the_file(const Outcome& outcome) {
  if (outcome.outcome_class != OutcomeClass::kRejected &&
      outcome.outcome_class != OutcomeClass::kFailedClean) {
    return false;
  }
  switch (outcome.code) {
    case OutcomeCode::kNotFound:
    case OutcomeCode::kInvalidArgument:
    case OutcomeCode::kQuota:
    case OutcomeCode::kPermission:
    case OutcomeCode::kConflict: return true;
    default: return false;
  }
}

bool sets(const Environment& env, std::string_view name) {
  return std::any_of(env.begin(), env.end(), [name](const auto& pair) { return pair.first == name; });
}

}  // namespace

ProgramOutput::ProgramOutput(std::uint64_t stdout_keep, std::uint64_t stderr_keep,
                             ExecutionObserver* observer)
    : sides_{Side{KeptOutput(stdout_keep), {}}, Side{KeptOutput(stderr_keep), {}}},
      observer_(observer) {}

OutputSink::Flow ProgramOutput::pass_on(Stream stream, std::string_view raw) {
  if (raw.empty() || observer_ == nullptr) return Flow::kContinue;
  OutputChunk chunk;
  chunk.stream = stream;
  chunk.raw = raw;
  chunk.raw_bytes = raw.size();
  std::string mended;
  chunk.text = raw;
  if (!is_valid_utf8(raw)) {
    mended = to_valid_utf8(raw);
    chunk.text = mended;
  }
  const auto flow = observer_->on_output(chunk);
  return flow == ExecutionObserver::Flow::kPause ? Flow::kPause : Flow::kContinue;
}

OutputSink::Flow ProgramOutput::write(Stream stream, std::string_view bytes) {
  if (stream == Stream::kFile) return Flow::kContinue;
  Side& side = at(stream);
  side.kept.append(bytes);
  return pass_on(stream, side.cutter.take(bytes));
}

void ProgramOutput::on_resume(std::function<void()> resume) {
  if (observer_ != nullptr) observer_->on_resume(std::move(resume));
}

void ProgramOutput::finish() {
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    pass_on(stream, at(stream).cutter.finish());
  }
}

void ProgramOutput::show(std::string_view line) {
  Side& side = at(Stream::kStdout);
  std::string text = side.kept.ends_line() ? std::string() : "\n";
  text.append(line).append("\n");
  side.kept.append(text);
  pass_on(Stream::kStdout, text);
}

void ProgramOutput::repeat_to(ExecutionObserver* observer) const {
  if (observer == nullptr) return;
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    const OutputText kept = text(stream);
    if (kept.text.empty()) continue;
    observer->on_output({stream, kept.text, kept.text.size(), kept.text});
  }
}

Program::Program(const Clock& clock, ExecutionRequest request, ExecutionObserver* observer,
                 const std::string& root)
    : clock_(clock),
      request_(std::move(request)),
      observer_(observer),
      nonce_(random_hex(16)),
      output_(request_.stdout_keep_bytes, request_.stderr_keep_bytes, observer) {
  const bool python = request_.language == Language::kPython;
  paths_.folder = root + "/.berth-" + nonce_.substr(0, 12);
  paths_.work = root + "/work";
  paths_.source = paths_.work + "/" + source_name(request_);
  paths_.harness = paths_.folder + (python ? "/sitecustomize.py" : "/berth_run.cjs");
  paths_.records = paths_.folder + "/result";
  if (python) source_ = prepare_python(request_.code);
  else source_.code = request_.code;
  if (!request_.packages.empty()) {
    source_.installs.insert(source_.installs.begin(), InstallCommand{request_.packages, 0});
  }
  if (request_.index != nullptr && !request_.index->any()) request_.index.reset();
  if (python && request_.index != nullptr) {
    base_packages_ = install::imported_base_packages(request_.code);
  }
}

Task<BodyResult> Program::run(Sandbox& sandbox) {
  if (observer_ != nullptr) observer_->on_started();
  const Status sent = co_await send(sandbox);
  if (!sent) co_return failed(sent.error());
  const Result<bool> ready = co_await install(sandbox);
  if (!ready) co_return failed(ready.error());
  if (*ready) {
    const Status ran = co_await start(sandbox);
    if (!ran) co_return failed(ran.error());
    const Status collected = co_await collect(sandbox);
    if (!collected) co_return failed(collected.error());
  }
  BodyResult body;
  body.kind = BodyResult::Kind::kCompleted;
  body.run_end = end_;
  result_.stdout_text = output_.text(Stream::kStdout);
  result_.stderr_text = output_.text(Stream::kStderr);
  if (!request_.simulated_by.empty()) {
    result_.simulated = true;
    result_.notes.push_back(fmt::format(
        "no program was run: provider '{}' only simulates, and what is reported is what its configuration says",
        request_.simulated_by));
  }
  result_.message = compose_message(result_, request_);
  body.document = bounded_document(result_);
  co_return body;
}

BodyResult Program::failed(const Error& error) {
  BodyResult body;
  body.kind = BodyResult::Kind::kInfrastructureFailure;
  body.message = error.message();
  body.run_end = end_;
  return body;
}

Task<Status> Program::put(Sandbox& sandbox, std::string path, std::string_view contents) {
  BytesSource source(contents);
  PutFile file;
  file.path = path;
  file.size_bytes = contents.size();
  const Answer<Nothing> answer = co_await sandbox.put_file(std::move(file), source);
  if (answer.outcome.done()) co_return Status();
  co_return fail(ErrorKind::kUnavailable,
                 fmt::format("cannot put '{}' into the sandbox: {}", path, describe(answer.outcome)));
}

Task<Status> Program::send(Sandbox& sandbox) {
  const Instant since = clock_.now();
  const std::string harness = request_.language == Language::kPython
                                  ? harness::python_harness()
                                  : std::string(harness::berth_run_cjs());
  Status sent = co_await put(sandbox, paths_.harness, harness);
  if (!sent) co_return sent;
  sent = co_await put(sandbox, paths_.source, source_.code);
  for (std::size_t i = 0; sent && i < request_.files.size(); ++i) {
    const RequestFile& file = request_.files[i];
    sent = co_await put(sandbox, paths_.work + "/" + file.name, file.contents);
  }
  add_timing(sandbox, "send", since);
  co_return sent;
}

Environment Program::environment() const {
  Environment env = request_.env;
  const auto set = [&env](std::string_view name, std::string value) {
    if (!sets(env, name)) env.emplace_back(name, std::move(value));
  };
  if (installs()) set("PYTHONUSERBASE", paths_.folder + "/packages");
  if (request_.language != Language::kPython) return env;
  std::string path = paths_.folder;
  for (const auto& [name, value] : request_.env) {
    if (name == "PYTHONPATH" && !value.empty()) path += ":" + value;
  }
  std::erase_if(env, [](const auto& pair) { return pair.first == "PYTHONPATH"; });
  set("PYTHONPATH", std::move(path));
  set("PYTHONUNBUFFERED", "1");
  set("PYTHONDONTWRITEBYTECODE", "1");
  set("MPLBACKEND", "Agg");
  set("BERTH_RUN", nonce_ + ":" + paths_.records);
  return env;
}

Command Program::command() const {
  Command command;
  if (request_.language == Language::kPython) {
    command.argv = {"python3", paths_.source};
  } else {
    command.argv = {"node",         "--experimental-vm-modules", paths_.harness,
                    paths_.source, paths_.records,              nonce_};
  }
  command.argv.insert(command.argv.end(), request_.arguments.begin(), request_.arguments.end());
  command.cwd = paths_.work;
  command.env = environment();
  command.timeout = request_.timeout;
  return command;
}

Command Program::install_command(const std::string& mode) const {
  Command command;
  command.argv = {"python3", paths_.folder + "/install/berth_install.py", mode};
  for (const std::string& package : base_packages_) {
    command.argv.insert(command.argv.end(), {"?1", package});
  }
  for (const InstallCommand& install : source_.installs) {
    command.argv.push_back(std::to_string(install.arguments.size()));
    command.argv.insert(command.argv.end(), install.arguments.begin(), install.arguments.end());
  }
  command.cwd = paths_.work;
  command.env = request_.env;
  const auto set = [&command](std::string_view name, std::string value) {
    if (!sets(command.env, name)) command.env.emplace_back(name, std::move(value));
  };
  set("PYTHONUSERBASE", paths_.folder + "/packages");
  // Without a network there is nothing to wait for.
  if (request_.network == Network::kNone) set("PIP_RETRIES", "0");
  return command;
}

Task<Answer<RunEnd>> Program::run_installer(Sandbox& sandbox, ProgramOutput& said) {
  if (request_.index == nullptr) {
    Command command = install_command("direct");
    co_return co_await sandbox.run(std::move(command), said);
  }
  std::function<void(std::string_view)> on_progress;
  if (observer_ != nullptr) {
    on_progress = [this](std::string_view line) {
      if (observer_ != nullptr) observer_->on_stage("install: " + std::string(line));
    };
  }
  install::Relay relay(request_.index, said, std::move(on_progress));
  co_await relay.open();
  Command command = install_command(relay.installer_argument());
  command.input = &relay;
  command.timeout = request_.index->timeout;
  Answer<RunEnd> answer = co_await sandbox.run(std::move(command), relay);
  relay.close();
  for (const std::string& problem : relay.problems()) result_.notes.push_back(problem);
  co_return answer;
}

Task<Result<bool>> Program::install(Sandbox& sandbox) {
  if (!installs()) co_return true;
  const Instant since = clock_.now();
  if (observer_ != nullptr) observer_->on_stage("install");
  Status sent = co_await put(sandbox, paths_.folder + "/install/berth_install.py",
                             harness::berth_install_py());
  if (!sent) co_return fail(std::move(sent).error());
  ProgramOutput said(kInstallKeepBytes, kInstallKeepBytes, nullptr);
  const Answer<RunEnd> answer = co_await run_installer(sandbox, said);
  add_timing(sandbox, "install", since);
  if (!answer.outcome.done()) {
    co_return fail(ErrorKind::kUnavailable,
                   "cannot install packages in the sandbox: " + describe(answer.outcome));
  }
  if (answer.value.cause == Cause::kExited && answer.value.exit_code == 0) co_return true;
  take_failed_install(answer.value, said);
  co_return false;
}

// What pip said takes the place of the program's output.
void Program::take_failed_install(const RunEnd& end, const ProgramOutput& said) {
  said.repeat_to(observer_);
  output_.close();
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    const OutputText text = said.text(stream);
    output_.write(stream, text.text);
  }
  take_end(end);
  ProgramError error;
  error.name = "PackageInstallError";
  error.value = end.cause == Cause::kWall
                    ? "pip install did not end in time, so the program was not started"
                    : "pip install failed, so the program was not started";
  result_.error = std::move(error);
  if (request_.network == Network::kNone && request_.index == nullptr) {
    result_.notes.emplace_back(
        "the sandbox has no network and this host has no package index configured "
        "(python.indexUrl), so only files and indexes inside the sandbox can be installed from");
  }
}

Task<Status> Program::start(Sandbox& sandbox) {
  const Instant since = clock_.now();
  if (observer_ != nullptr) observer_->on_stage("run");
  BytesSource input(request_.input);
  Command command = this->command();
  if (!request_.input.empty()) command.input = &input;
  const Answer<RunEnd> answer = co_await sandbox.run(std::move(command), output_);
  output_.finish();
  add_timing(sandbox, "run", since);
  if (!answer.outcome.done()) {
    co_return fail(ErrorKind::kUnavailable,
                   "the program's run was lost: " + describe(answer.outcome));
  }
  take_end(answer.value);
  if (answer.value.cause == Cause::kLost) {
    co_return fail(ErrorKind::kUnavailable, "the program's end was not seen by the provider");
  }
  co_return Status();
}

Task<Status> Program::collect(Sandbox& sandbox) {
  const Instant since = clock_.now();
  if (observer_ != nullptr) observer_->on_stage("collect");
  BoundedFile file(kRecordsBytesMax);
  GetFile wanted;
  wanted.path = paths_.records;
  wanted.bytes_max = kRecordsBytesMax;
  const Answer<FileGot> answer = co_await sandbox.get_file(std::move(wanted), file);
  add_timing(sandbox, "collect", since);
  if (answer.outcome.done() && !file.over()) {
    take_records(read_records(file.contents(), nonce_));
    co_return Status();
  }
  if (answer.outcome.done() || is_about_the_file(answer.outcome)) {
    // A program that ends itself without its interpreter's leave has no such file.
    if (answer.outcome.code != OutcomeCode::kNotFound) {
      result_.notes.push_back("what the program left cannot be read: " +
                              (file.over() ? "it is too large" : describe(answer.outcome)));
    }
    co_return Status();
  }
  co_return fail(ErrorKind::kUnavailable,
                 "the program's result could not be fetched: " + describe(answer.outcome));
}

void Program::take_end(const RunEnd& end) {
  end_ = end;
  result_.exit_code = end.exit_code;
  result_.signal = end.signal;
  result_.cause = end.cause;
  const bool good = end.cause == Cause::kExited && end.exit_code == 0;
  result_.status = good ? ExecutionStatus::kCompleted : ExecutionStatus::kFailed;
}

void Program::take_records(ProgramRecords records) {
  for (std::string& note : records.notes) result_.notes.push_back(std::move(note));
  result_.charts = std::move(records.charts);
  if (result_.status == ExecutionStatus::kFailed) result_.error = std::move(records.error);
  result_.result = std::move(records.result);
  if (result_.error) {
    std::string note = missing_package_note(*result_.error);
    if (!note.empty()) result_.notes.push_back(std::move(note));
  }
  if (result_.result) {
    output_.show(result_.result->text);
    if (result_.result->truncated) {
      result_.notes.emplace_back("the shown result is only its beginning");
    }
  }
  if (observer_ == nullptr) return;
  for (const Chart& chart : result_.charts) observer_->on_chart(chart);
  if (result_.result) observer_->on_result(*result_.result);
}

void Program::add_timing(Sandbox& sandbox, std::string_view phase, Instant since) {
  const Duration took = clock_.now() - since;
  sandbox.add_timing(phase, took);
  result_.timings_us.emplace_back(
      phase, std::chrono::duration_cast<std::chrono::microseconds>(took).count());
}

ExecutionResult Program::take_result() {
  output_.close();
  observer_ = nullptr;
  result_.stdout_text = output_.text(Stream::kStdout);
  result_.stderr_text = output_.text(Stream::kStderr);
  return std::move(result_);
}

}  // namespace berth
