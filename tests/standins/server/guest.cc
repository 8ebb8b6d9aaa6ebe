#include "tests/standins/server/guest.h"

#include <errno.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstdio>
#include <utility>

namespace berth::standins {
namespace {

constexpr Duration kBound = std::chrono::seconds(60);
constexpr Duration kLongestLife = std::chrono::hours(23);
constexpr char kAgentPath[] = "/workspace/.agent";

OperationContext within(Duration bound, Cancellation* cancellation = nullptr) {
  OperationContext context;
  context.deadline = std::chrono::steady_clock::now() + bound;
  context.cancellation = cancellation;
  return context;
}

// The agent's program as a file's contents.
class Bytes final : public InputSource {
 public:
  explicit Bytes(const std::string& text) : text_(text) {}
  State read(std::string& into, std::size_t bytes_max) override {
    const std::size_t size = std::min(bytes_max, text_.size() - at_);
    into.append(text_, at_, size);
    at_ += size;
    return size == 0 ? State::kEnd : State::kData;
  }
  void on_ready(std::function<void()>) override {}

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

FileEntry unpack_entry(wire::Unpacker* unpacker) {
  FileEntry entry;
  entry.name = unpacker->str();
  entry.size = unpacker->u64();
  entry.mode = unpacker->u32();
  entry.modified_ms = unpacker->u64();
  entry.uid = unpacker->u32();
  return entry;
}

}  // namespace

int Job::exit_code() const {
  if (start_error != 0) return start_error == ENOENT ? 127 : 126;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Guest::Guest(Machines& machines)
    : machines_(machines), name_(machines.fresh_name()), bell_(machines.executor()) {}

Task<Result<std::shared_ptr<Guest>>> Guest::start(Machines& machines, Environment environment,
                                                  Duration lifetime) {
  auto guest = std::make_shared<Guest>(machines);
  const Status booted = co_await guest->boot(std::move(environment), lifetime);
  if (booted) co_return guest;
  co_await guest->end();
  co_return fail(booted.error());
}

Task<Status> Guest::boot(Environment environment, Duration lifetime) {
  auto placed = co_await machines_.place();
  if (!placed) co_return fail(placed.error());
  worker_ = *placed;
  environment_ = std::move(environment);
  environment_.insert(environment_.begin(), {"HOME", kWorkFolder});
  CreateSpec spec;
  spec.owner_tag = machines_.owner_tag();
  spec.lifetime = std::min(lifetime, kLongestLife);
  const auto made = co_await provider().create(within(kBound), name_, std::move(spec));
  if (!made.outcome.done()) co_return fail(ErrorKind::kUnavailable, made.outcome.message);
  ref_ = made.value.ref;
  PutFile file;
  file.path = kAgentPath;
  file.mode = 0700;
  file.size_bytes = machines_.agent().size();
  Bytes bytes(machines_.agent());
  const auto put = co_await provider().put_file(within(kBound), ref_, std::move(file), bytes);
  if (!put.outcome.done()) co_return fail(ErrorKind::kUnavailable, put.outcome.message);
  agent_over_ = false;
  // It keeps this guest until the agent has ended.
  boost::asio::co_spawn(
      machines_.executor(),
      [](std::shared_ptr<Guest> self) -> Task<void> { co_await self->run_agent(); }(shared_from_this()),
      boost::asio::detached);
  while (!alive_ && !agent_over_) co_await bell_.wait();
  if (!alive_) co_return fail(ErrorKind::kUnavailable, "the agent of a sandbox did not start");
  co_return Status{};
}

Task<void> Guest::run_agent() {
  Command command;
  command.argv = {kAgentPath};
  command.input = this;
  const auto ended = co_await provider().run(within(kLongestLife, &cancellation_), ref_,
                                                       std::move(command), *this);
  if (!cancellation_.requested()) {
    std::fprintf(stderr, "a sandbox ended by itself: %s, exit code %d\n",
                 std::string(to_string(ended.value.cause)).c_str(), ended.value.exit_code.value_or(-1));
  }
  agent_over_ = true;
  lose_everything();
}

void Guest::lose_everything() {
  alive_ = false;
  for (const auto& [id, job] : jobs_) {
    job->lost = job->ended = true;
    job->status = SIGKILL;
    job->bell.ring();
  }
  jobs_.clear();
  for (const auto& [id, reply] : replies_) {
    reply->done = true;
    reply->error = ESRCH;
    reply->bell.ring();
  }
  replies_.clear();
  bell_.ring();
}

Task<bool> Guest::end() {
  if (!agent_over_) cancellation_.request(Cancellation::Reason::kCaller);
  while (!agent_over_) co_await bell_.wait();
  if (worker_ == nullptr) co_return true;
  const auto gone = co_await provider().destroy(within(kBound), name_, ref_);
  if (!gone.outcome.done()) {
    std::fprintf(stderr, "%s\n", gone.outcome.message.c_str());
    co_return false;
  }
  if (worker_ != nullptr) --std::exchange(worker_, nullptr)->guests;
  co_return true;
}

OutputSink::Flow Guest::write(Stream stream, std::string_view bytes) {
  if (stream != Stream::kStdout) {
    std::fprintf(stderr, "agent: %.*s\n", static_cast<int>(bytes.size()), bytes.data());
    return Flow::kContinue;
  }
  inbox_ += bytes;
  std::size_t at = 0;
  wire::Kind kind{};
  std::uint32_t id = 0;
  std::string_view payload;
  while (wire::take_frame(inbox_, &at, &kind, &id, &payload)) take(kind, id, payload);
  inbox_.erase(0, at);
  return Flow::kContinue;
}

InputSource::State Guest::read(std::string& into, std::size_t bytes_max) {
  const std::size_t size = std::min(bytes_max, outbox_.size() - outbox_at_);
  into.append(outbox_, outbox_at_, size);
  outbox_at_ += size;
  if (outbox_at_ == outbox_.size()) {
    outbox_.clear();
    outbox_at_ = 0;
  }
  return size == 0 ? State::kAgain : State::kData;
}

void Guest::send(wire::Kind kind, std::uint32_t id, std::string_view payload) {
  outbox_ += wire::frame(kind, id, payload);
  if (ready_) ready_();
}

void Guest::take(wire::Kind kind, std::uint32_t id, std::string_view payload) {
  wire::Unpacker unpacker(payload);
  if (kind == wire::Kind::kReady) {
    alive_ = true;
    bell_.ring();
    return;
  }
  if (const auto found = replies_.find(id); found != replies_.end()) {
    const std::shared_ptr<Reply> reply = found->second;
    if (kind == wire::Kind::kData) {
      reply->data += payload;
    } else if (kind == wire::Kind::kDone) {
      reply->done = true;
      reply->error = static_cast<int>(unpacker.u32());
      replies_.erase(found);
      reply->bell.ring();
    }
    return;
  }
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  const std::shared_ptr<Job> job = found->second;
  switch (kind) {
    case wire::Kind::kStarted: job->started = true; break;
    case wire::Kind::kDone:
      job->start_error = static_cast<int>(unpacker.u32());
      jobs_.erase(found);
      break;
    case wire::Kind::kOutput: {
      const std::uint8_t stream = unpacker.u8();
      job->transcript.append(stream, unpacker.rest());
      break;
    }
    case wire::Kind::kEnded:
      job->status = static_cast<int>(unpacker.u32());
      job->ended = true;
      break;
    default: break;
  }
  job->bell.ring();
}

std::shared_ptr<Job> Guest::new_job() {
  auto job = std::make_shared<Job>(machines_.executor());
  job->id = ++last_id_;
  if (alive_) {
    jobs_[job->id] = job;
  } else {
    job->lost = job->ended = true;
    job->status = SIGKILL;
  }
  return job;
}

Task<void> Guest::started(std::shared_ptr<Job> job) {
  while (!job->started && !job->over()) co_await job->bell.wait();
}

Task<void> Guest::wait(std::shared_ptr<Job> job) {
  while (!job->over()) co_await job->bell.wait();
}

Task<std::shared_ptr<Job>> Guest::run(Program program) {
  auto job = new_job();
  wire::Packer packer;
  packer.u8(program.flags).str(program.cwd).u32(static_cast<std::uint32_t>(program.argv.size()));
  for (const std::string& word : program.argv) packer.str(word);
  packer.u32(static_cast<std::uint32_t>(environment_.size() + program.environment.size()));
  for (const Environment* pairs : {&environment_, &program.environment}) {
    for (const auto& [name, value] : *pairs) packer.str(name + "=" + value);
  }
  send(wire::Kind::kStart, job->id, packer.text());
  co_await started(job);
  co_return job;
}

Task<std::shared_ptr<Job>> Guest::run_in(std::shared_ptr<Job> shell, std::string command) {
  auto job = new_job();
  send(wire::Kind::kExec, job->id, wire::Packer().u32(shell->id).str(command).text());
  co_await started(job);
  co_return job;
}

Task<std::shared_ptr<Job>> Guest::finish(Program program, std::string bytes) {
  if (!bytes.empty()) program.flags |= wire::kWithInput;
  auto job = co_await run(std::move(program));
  if (!bytes.empty()) {
    input(*job, bytes);
    input(*job, {});
  }
  co_await wait(job);
  forget(*job);
  co_return job;
}

void Guest::input(const Job& job, std::string_view bytes) {
  if (bytes.empty()) return send(wire::Kind::kInput, job.id, {});
  for (std::size_t at = 0; at < bytes.size(); at += wire::kPieceBytes) {
    send(wire::Kind::kInput, job.id, bytes.substr(at, wire::kPieceBytes));
  }
}

void Guest::signal(const Job& job, int number) {
  send(wire::Kind::kSignal, job.id, wire::Packer().u32(static_cast<std::uint32_t>(number)).text());
}

Task<std::shared_ptr<Guest::Reply>> Guest::ask(wire::Kind kind, std::string payload,
                                               std::string_view contents, bool with_contents) {
  auto reply = std::make_shared<Reply>(machines_.executor());
  if (!alive_) {
    reply->error = ESRCH;
    co_return reply;
  }
  const std::uint32_t id = ++last_id_;
  replies_[id] = reply;
  send(kind, id, payload);
  for (std::size_t at = 0; at < contents.size(); at += wire::kPieceBytes) {
    send(wire::Kind::kInput, id, contents.substr(at, wire::kPieceBytes));
  }
  if (with_contents) send(wire::Kind::kInput, id, {});
  while (!reply->done) co_await reply->bell.wait();
  co_return reply;
}

Task<int> Guest::ask_done(wire::Kind kind, std::string payload) {
  const auto reply = co_await ask(kind, std::move(payload), {}, false);
  co_return reply->error;
}

// The agent answers under the id of the question, which for this one is the process'.
Task<void> Guest::end_tree(std::shared_ptr<Job> job) {
  if (!alive_) co_return;
  auto reply = std::make_shared<Reply>(machines_.executor());
  replies_[job->id] = reply;
  send(wire::Kind::kEndTree, job->id, {});
  while (!reply->done) co_await reply->bell.wait();
  forget(*job);
}

void Guest::forget(Job& job) {
  if (!job.over()) {
    job.ended = true;
    job.status = SIGKILL;
  }
  jobs_.erase(job.id);
  job.bell.ring();
}

Task<void> Guest::end_all() {
  co_await ask_done(wire::Kind::kEndAll, std::string());
  // Commands in shells end with their shell, which nobody says.
  while (!jobs_.empty()) {
    const std::shared_ptr<Job> one = jobs_.begin()->second;
    forget(*one);
  }
}

Task<int> Guest::read_file(std::string path, std::string* contents) {
  auto reply = co_await ask(wire::Kind::kReadFile, wire::Packer().str(path).text(), {}, false);
  *contents = std::move(reply->data);
  co_return reply->error;
}

Task<int> Guest::write_file(std::string path, std::uint32_t mode, std::string contents) {
  const auto reply =
      co_await ask(wire::Kind::kWriteFile, wire::Packer().u32(mode).str(path).text(), contents, true);
  co_return reply->error;
}

Task<int> Guest::stat(std::string path, FileEntry* entry) {
  const auto reply = co_await ask(wire::Kind::kStat, wire::Packer().str(path).text(), {}, false);
  wire::Unpacker unpacker(reply->data);
  *entry = unpack_entry(&unpacker);
  co_return reply->error;
}

Task<int> Guest::list(std::string path, std::vector<FileEntry>* entries) {
  const auto reply = co_await ask(wire::Kind::kList, wire::Packer().str(path).text(), {}, false);
  wire::Unpacker unpacker(reply->data);
  while (!unpacker.rest().empty() && unpacker.whole()) entries->push_back(unpack_entry(&unpacker));
  std::sort(entries->begin(), entries->end(),
            [](const FileEntry& a, const FileEntry& b) { return a.name < b.name; });
  co_return reply->error;
}

Task<int> Guest::make_folder(std::string path, std::uint32_t mode) {
  return ask_done(wire::Kind::kMakeFolder, wire::Packer().u32(mode).str(path).text());
}

Task<int> Guest::remove(std::string path, bool recursive) {
  return ask_done(wire::Kind::kRemove, wire::Packer().u8(recursive ? 1 : 0).str(path).text());
}

Task<int> Guest::rename(std::string from, std::string to) {
  return ask_done(wire::Kind::kRename, wire::Packer().str(from).str(to).text());
}

Task<int> Guest::set_mode(std::string path, std::uint32_t mode) {
  return ask_done(wire::Kind::kSetMode, wire::Packer().u32(mode).str(path).text());
}

}  // namespace berth::standins
