#include "tests/store/folder_provider.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <utility>

#include "core/os/fd.h"

namespace berth::test {
namespace {

Scope scope_of_all() { return {{"folder", "cloud"}}; }

template <class T>
Answer<T> rejected(OutcomeCode code, std::string message) {
  return {Outcome::make(OutcomeClass::kRejected, code, std::move(message)), {}};
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

FolderProvider::FolderProvider(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_ / "alive");
  std::filesystem::create_directories(folder_ / "fenced");
  identity_.id = "folder";
  identity_.version = "1.0.0";
  identity_.digest = std::string(64, 'f');
  identity_.recovery = Recovery::kFence;
}

std::vector<std::string> FolderProvider::alive(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "alive", missing))
    names.push_back(entry.path().filename().string());
  return names;
}

std::vector<std::string> FolderProvider::log(const std::filesystem::path& folder) {
  std::vector<std::string> lines;
  std::ifstream file(folder / "log");
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void FolderProvider::record(std::string_view what, const std::string& name) {
  std::string line(what);
  line.append(" ").append(name).append("\n");
  const auto file = os::open_file(folder_ / "log", O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (!file || !os::write_all(file->get(), line)) throw std::runtime_error("cannot write the log");
}

Found FolderProvider::found(const std::string& name, Presence absent) const {
  Found found;
  found.presence = absent;
  if (!is_there(folder_ / "alive" / name)) return found;
  found.presence = Presence::kPresent;
  found.state = SandboxState::kReady;
  found.name = name;
  found.ref = "ref-" + name;
  found.scope = scope_of_all();
  return found;
}

Task<Answer<ProbeReport>> FolderProvider::probe(OperationContext) {
  Answer<ProbeReport> answer{Outcome::make_done(), {}};
  answer.value.usable = true;
  co_return answer;
}

Task<Answer<Scope>> FolderProvider::scope(OperationContext) {
  co_return Answer<Scope>{Outcome::make_done(), scope_of_all()};
}

Task<Answer<Created>> FolderProvider::create(OperationContext, std::string name, CreateSpec) {
  if (is_there(folder_ / "fenced" / name))
    co_return rejected<Created>(OutcomeCode::kConflict, "the name is fenced");
  record("create", name);
  const auto made = os::open_file(folder_ / "alive" / name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!made) co_return rejected<Created>(OutcomeCode::kConflict, "the name exists");
  Answer<Created> answer{Outcome::make_done(), {}};
  answer.value.name = name;
  answer.value.ref = "ref-" + name;
  answer.value.scope = scope_of_all();
  co_return answer;
}

Task<Answer<Found>> FolderProvider::lookup(OperationContext, std::string name) {
  const bool fenced = is_there(folder_ / "fenced" / name);
  co_return Answer<Found>{Outcome::make_done(),
                          found(name, fenced ? Presence::kAbsentFenced : Presence::kAbsentNow)};
}

Task<Answer<Found>> FolderProvider::fence(OperationContext, std::string name) {
  std::ofstream(folder_ / "fenced" / name).flush();
  co_return Answer<Found>{Outcome::make_done(), found(name, Presence::kAbsentFenced)};
}

Task<Answer<RunEnd>> FolderProvider::run(OperationContext, std::string, Command, OutputSink&) {
  Answer<RunEnd> answer{Outcome::make_done(), {}};
  answer.value.cause = Cause::kExited;
  answer.value.exit_code = 0;
  co_return answer;
}

Task<Answer<Nothing>> FolderProvider::put_file(OperationContext, std::string, PutFile,
                                               InputSource&) {
  co_return rejected<Nothing>(OutcomeCode::kUnsupported, "no files");
}

Task<Answer<FileGot>> FolderProvider::get_file(OperationContext, std::string, GetFile,
                                               OutputSink&) {
  co_return rejected<FileGot>(OutcomeCode::kUnsupported, "no files");
}

Task<Answer<Destroyed>> FolderProvider::destroy(OperationContext, std::string name, std::string) {
  record("destroy", name);
  ::unlink((folder_ / "alive" / name).c_str());
  co_return Answer<Destroyed>{Outcome::make_done(), {}};
}

Task<Answer<std::vector<Listed>>> FolderProvider::list_owned(OperationContext, std::string) {
  Answer<std::vector<Listed>> answer{Outcome::make_done(), {}};
  for (const std::string& name : alive(folder_)) {
    Listed listed;
    listed.name = name;
    listed.ref = "ref-" + name;
    listed.state = SandboxState::kReady;
    answer.value.push_back(std::move(listed));
  }
  co_return answer;
}

}  // namespace berth::test
