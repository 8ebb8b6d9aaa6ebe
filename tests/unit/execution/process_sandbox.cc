#include "tests/unit/execution/process_sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <csignal>
#include <chrono>
#include <exception>
#include <fstream>
#include <map>
#include <stdexcept>

#include "core/execution/program.h"
#include "core/lifecycle/system_clock.h"
#include "core/os/process.h"

namespace berth::test {
namespace {

constexpr std::chrono::seconds kPatience(60);  // a program that hangs fails its test

std::vector<std::string> environment_of(const Command& command) {
  std::map<std::string, std::string> all = {{"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
  all["HOME"] = command.cwd;
  all["MPLCONFIGDIR"] = "/tmp/berth-test-matplotlib";
  all["PIP_USER"] = "1";  // never into this machine's own packages
  for (const auto& [name, value] : command.env) all[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : all) list.push_back(name + "=" + value);
  return list;
}

// Moves what is there from one descriptor to the sink; false at its end.
bool drain(int fd, Stream stream, OutputSink& output, std::uint64_t& count) {
  std::array<char, 65536> buffer{};
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got <= 0) return got < 0 && errno == EINTR;
  count += static_cast<std::uint64_t>(got);
  output.write(stream, std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  return true;
}

// A file that standard input can be read from.
os::Fd input_file(const Command& command) {
  std::string bytes;
  if (command.input != nullptr) {
    while (command.input->read(bytes, 65536) == InputSource::State::kData) {
    }
  }
  if (bytes.empty()) return os::Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  char name[] = "/tmp/berth-input-XXXXXX";
  os::Fd file(mkostemp(name, O_CLOEXEC));
  unlink(name);
  if (write(file.get(), bytes.data(), bytes.size()) < 0) throw std::runtime_error("no input file");
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

RunEnd run_to_end(const Command& command, OutputSink& output) {
  os::SpawnRequest spawn;
  spawn.program = "/usr/bin/env";
  spawn.arguments = {"-C", command.cwd.empty() ? "/" : command.cwd};
  spawn.arguments.insert(spawn.arguments.end(), command.argv.begin(), command.argv.end());
  spawn.environment = environment_of(command);
  os::Pipe out = os::make_pipe().value();
  os::Pipe err = os::make_pipe().value();
  const os::Fd in = input_file(command);
  spawn.descriptors = {{in.get(), 0}, {out.write_end.get(), 1}, {err.write_end.get(), 2}};
  os::Process process = os::Process::spawn(spawn).value();
  out.write_end.reset();
  err.write_end.reset();
  RunEnd end;
  const auto limit = command.timeout > Duration::zero() ? command.timeout : Duration(kPatience);
  const auto until = std::chrono::steady_clock::now() + limit;
  std::array<pollfd, 3> watched = {{{out.read_end.get(), POLLIN, 0},
                                    {err.read_end.get(), POLLIN, 0},
                                    {process.pidfd(), POLLIN, 0}}};
  std::optional<os::ProcessEnd> ended;
  bool late = false;
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    if (poll(watched.data(), watched.size(), 100) < 0 && errno != EINTR) break;
    if (!late && std::chrono::steady_clock::now() > until) {
      late = true;
      process.kill();
    }
    if (watched[0].revents != 0 && !drain(watched[0].fd, Stream::kStdout, output, end.stdout_bytes)) {
      watched[0].fd = -1;
    }
    if (watched[1].revents != 0 && !drain(watched[1].fd, Stream::kStderr, output, end.stderr_bytes)) {
      watched[1].fd = -1;
    }
    // What a program leaves behind must not hold its run open.
    if (watched[2].revents != 0 && !ended) {
      ended = process.try_reap();
      watched[2].fd = -1;
      if (ended) ::kill(-process.pid(), SIGKILL);
    }
  }
  if (!ended) ended = process.reap();
  end.exit_code = ended->exit_code;
  end.signal = ended->signal;
  end.cause = late ? Cause::kWall : ended->signal ? Cause::kSignalled : Cause::kExited;
  return end;
}

template <class T>
Answer<T> done(T value) {
  return {Outcome::make_done(), std::move(value)};
}

template <class T>
Answer<T> rejected(OutcomeCode code, std::string message) {
  return {Outcome::make(OutcomeClass::kRejected, code, std::move(message)), T{}};
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  char name[] = "/tmp/program-XXXXXX";
  if (mkdtemp(name) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Task<Answer<RunEnd>> ProcessSandbox::run(Command command, OutputSink& output) {
  output.on_resume([] {});
  co_return done(run_to_end(command, output));
}

Task<Answer<Nothing>> ProcessSandbox::put_file(PutFile file, InputSource& input) {
  std::string bytes;
  while (input.read(bytes, 4096) == InputSource::State::kData) {
  }
  std::filesystem::create_directories(std::filesystem::path(file.path).parent_path());
  std::ofstream(file.path, std::ios::binary) << bytes;
  if (bytes.size() != file.size_bytes) {
    co_return rejected<Nothing>(OutcomeCode::kInvalidArgument, "not the size that was said");
  }
  co_return done(Nothing{});
}

Task<Answer<FileGot>> ProcessSandbox::get_file(GetFile file, OutputSink& output) {
  const os::Fd fd(open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!fd.valid()) {
    const auto code = errno == ENOENT ? OutcomeCode::kNotFound : OutcomeCode::kPermission;
    co_return rejected<FileGot>(code, "cannot open the file");
  }
  fstat(fd.get(), &status);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (!S_ISREG(status.st_mode)) {
    co_return rejected<FileGot>(OutcomeCode::kInvalidArgument, "not a regular file");
  }
  if (size > file.bytes_max) co_return rejected<FileGot>(OutcomeCode::kQuota, "too large");
  std::uint64_t count = 0;
  while (drain(fd.get(), Stream::kFile, output, count)) {
  }
  co_return done(FileGot{status.st_mode & 07777u, count});
}

void ProcessSandbox::add_timing(std::string_view phase, Duration) { phases_.emplace_back(phase); }

BodyResult run_task(Task<BodyResult> task) {
  boost::asio::io_context loop;
  BodyResult result;
  std::exception_ptr thrown;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, BodyResult made) {
    thrown = error;
    result = std::move(made);
  });
  loop.run();
  if (thrown) std::rethrow_exception(thrown);
  return result;
}

ProgramRun run_program(ExecutionRequest request, const std::filesystem::path& folder,
                       ExecutionObserver* observer) {
  const SystemClock clock;
  ProcessSandbox sandbox;
  Program program(clock, std::move(request), observer, folder.string());
  ProgramRun run;
  run.body = run_task(program.run(sandbox));
  if (run.body.document.empty()) {
    run.result = program.take_result();
  } else {
    run.result = execution_result_from_json(run.body.document).value();
  }
  return run;
}

ProgramRun run_program(ExecutionRequest request, ExecutionObserver* observer) {
  const TemporaryFolder folder;
  return run_program(std::move(request), folder.path(), observer);
}

ProgramRun run_python(std::string code) {
  ExecutionRequest request;
  request.code = std::move(code);
  return run_program(std::move(request));
}

ProgramRun run_javascript(std::string code) {
  ExecutionRequest request;
  request.code = std::move(code);
  request.language = Language::kJavascript;
  return run_program(std::move(request));
}

}  // namespace berth::test
