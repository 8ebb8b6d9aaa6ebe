#include "core/conformance/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "core/base/json.h"
#include "core/conformance/fuzz.h"
#include "core/conformance/lab.h"
#include "core/os/process.h"
#include "core/os/process_tree.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace berth::conformance {
namespace {

namespace json = boost::json;

constexpr std::size_t kRequestBytesMax = std::size_t{1} << 20;
constexpr std::size_t kPrintedBytesKept = 16384;
// A worker or helper that ends by itself because its parent did is no straggler.
constexpr int kOrderlyEndMs = 100;

// ---- The case's own process

Status load_task(Lab& lab) {
  const Status loaded = lab.load();
  for (const registry::Finding& finding : lab.findings())
    lab.note(registry::to_sentence(finding));
  return loaded;
}

// Destroys what the names file lists, as a host would that knows nothing else.
Status clean_task(Lab& lab) {
  BERTH_CHECK_OK(lab.open());
  std::ifstream list(lab.subject().names_file());
  std::string failures;
  for (std::string name; std::getline(list, name);) {
    const Answer<Found> found = lab.lookup(name);
    if (found.outcome.done() && found.value.presence == Presence::kPresent)
      lab.note("found alive: " + name);
    const Answer<Destroyed> answer = lab.destroy(name);
    if (!answer.outcome.done()) failures += describe("\n  destroy " + name, answer.outcome);
  }
  if (!failures.empty()) return violated("not confirmed gone:" + failures);
  return {};
}

Status start_of(const Case& one, Lab& lab) {
  if (one.start == Start::kFile) return {};
  if (one.start == Start::kLoaded) return lab.load();
  return lab.open();
}

Status run_body(const std::string& task, Lab& lab) {
  if (task == kLoadTask) return load_task(lab);
  if (task == kCleanTask) return clean_task(lab);
  if (task == kFuzzTask) return fuzz_sequence(lab);
  const Case* one = find_case(task);
  if (one == nullptr) return fail(ErrorKind::kInternal, "no case " + task);
  BERTH_CHECK_OK(start_of(*one, lab));
  return one->body(lab);
}

Status prepare_folder(const CaseRequest& request) {
  std::error_code error;
  std::filesystem::create_directories(request.folder / "s", error);
  if (!error)
    std::filesystem::permissions(request.folder / "s", std::filesystem::perms::owner_all, error);
  if (error) return fail(ErrorKind::kIo, "cannot make a folder: " + error.message());
  if (request.task == kCleanTask) return {};
  BERTH_TRY(const os::Fd file,
            os::open_file(request.folder / kRequestFile, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  return os::write_all(file.get(), encode(request));
}

// A case leaves without destructors, and so past the place where LeakSanitizer looks. What an operation that never
// ended holds is lost to nobody.
void look_for_lost_memory([[maybe_unused]] Lab& lab, [[maybe_unused]] const Status& shut) {
#if defined(__SANITIZE_ADDRESS__)
  if (shut && lab.bench().open_operations() == 0) __lsan_do_recoverable_leak_check();
#endif
}

// Who removes the folder of the run afterwards: the runner, or nobody else than this process.
enum class WhoseFolder { kRunners, kOwn };

// Ends the process, for what a provider left in it can be neither stopped nor waited for.
[[noreturn]] void run_case(const CaseRequest& request, int messages_fd, WhoseFolder whose) {
#if defined(__SANITIZE_THREAD__)
  // With the first thread of a process ThreadSanitizer begins one of its own, which a case that counts threads
  // would hold against the provider.
  std::thread([] {}).join();
#endif
  Messages messages(messages_fd);
  const std::string task = request.task;
  if (const Status prepared = prepare_folder(request); !prepared) {
    messages.result(fail(ErrorKind::kInternal, prepared.error().message()), {}, {});
    ::_exit(0);
  }
  auto subject = Subject::take(request);
  if (!subject) {
    messages.result(fail(subject.error()), {}, {});
    ::_exit(0);
  }
  const Case* one = find_case(task);
  Lab lab(*subject, messages, one != nullptr ? one->clause : std::string_view());
  Status status = run_body(task, lab);
  messages.body_over();
  const std::vector<std::string> left = lab.clean_up();
  const Status shut = lab.shut_down();
  // Loading is judged by itself: how a provider ends is what other cases are about.
  if (status && !shut && task != kLoadTask) status = shut;
  messages.result(status, lab.bench().violations(), left);
  // What could not be destroyed is named in it.
  std::error_code ignored;
  if (whose == WhoseFolder::kOwn && left.empty())
    std::filesystem::remove_all(request.folder.parent_path(), ignored);
  look_for_lost_memory(lab, shut);
  std::fflush(nullptr);
  ::_exit(status && lab.bench().violations().empty() ? 0 : 1);
}

// ---- The keeper

struct Watched {
  bool timed_out = false;
  int status = 0;
  std::string printed;
  std::uint64_t printed_bytes = 0;
};

void take_printed(int fd, Watched& watched) {
  char buffer[16384];
  const ssize_t got = ::read(fd, buffer, sizeof buffer);
  if (got <= 0) return;
  watched.printed_bytes += static_cast<std::uint64_t>(got);
  watched.printed.append(buffer, static_cast<std::size_t>(got));
  if (watched.printed.size() > 2 * kPrintedBytesKept)
    watched.printed.erase(0, watched.printed.size() - kPrintedBytesKept);
}

Watched watch(pid_t pid, int pidfd, int printing, std::int64_t budget_ms) {
  Watched watched;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(budget_ms);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    // Nothing is awaited of the third but the error that says that nobody reads it any more.
    pollfd polled[3] = {{pidfd, POLLIN, 0}, {printing, POLLIN, 0}, {kMessagesFd, 0, 0}};
    const int ready = ::poll(polled, 3, std::max(0, static_cast<int>(left.count())));
    if (ready > 0 && (polled[1].revents & POLLIN) != 0) take_printed(printing, watched);
    if (ready > 0 && (polled[0].revents & POLLIN) != 0) break;
    if (left.count() > 0 && polled[2].revents == 0) continue;
    watched.timed_out = true;
    os::kill_child(pid);
    break;
  }
  ::waitpid(pid, &watched.status, 0);
  return watched;
}

void tell(const Watched& watched, const std::vector<std::string>& stragglers) {
  json::object ended;
  if (watched.timed_out) ended["how"] = "timeout";
  else if (WIFSIGNALED(watched.status)) ended["how"] = "signal";
  else ended["how"] = "exit";
  ended["number"] = WIFSIGNALED(watched.status) ? WTERMSIG(watched.status) : WEXITSTATUS(watched.status);
  json::array names;
  for (const std::string& name : stragglers) names.emplace_back(to_valid_utf8(name));
  const std::size_t from = watched.printed.size() > kPrintedBytesKept
                               ? watched.printed.size() - kPrintedBytesKept
                               : 0;
  Messages(kMessagesFd)
      .send(json::object{{"ended", std::move(ended)},
                         {"stragglers", std::move(names)},
                         {"printed", to_valid_utf8(std::string_view(watched.printed).substr(from))},
                         {"printedBytes", watched.printed_bytes}});
}

int keep(const CaseRequest& request) {
  if (!os::adopt_orphans()) return 4;
  auto printing = os::make_pipe();
  if (!printing) return 4;
  const pid_t keeper = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return 4;
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != keeper) ::_exit(4);
    ::dup2(printing->write_end.get(), STDOUT_FILENO);
    ::dup2(printing->write_end.get(), STDERR_FILENO);
    printing->read_end.reset();
    printing->write_end.reset();
    run_case(request, kMessagesFd, WhoseFolder::kRunners);
  }
  printing->write_end.reset();
  os::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return 4;
  static_cast<void>(os::set_non_blocking(printing->read_end.get()));
  Watched watched = watch(pid, pidfd.get(), printing->read_end.get(), request.budget_ms);
  for (int reads = 0; reads < 64; ++reads) take_printed(printing->read_end.get(), watched);
  if (!watched.timed_out) static_cast<void>(os::await_children(kOrderlyEndMs));
  tell(watched, os::end_children());
  return 0;
}

}  // namespace

int serve_as_child() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::fcntl(kRequestFd, F_SETFD, FD_CLOEXEC);
  ::fcntl(kMessagesFd, F_SETFD, FD_CLOEXEC);
  os::Fd request_fd(kRequestFd);
  ::lseek(request_fd.get(), 0, SEEK_SET);  // the position is shared with whoever wrote it
  auto text = os::read_all(request_fd.get(), kRequestBytesMax, "the case's request");
  if (!text) return 4;
  request_fd.reset();
  auto request = decode_request(*text);
  if (!request) return 4;
  return keep(*request);
}

int run_case_here(const std::string& request_json, int messages_fd) {
  auto request = decode_request(request_json);
  if (!request) return 4;
  run_case(*request, messages_fd, WhoseFolder::kOwn);
}

}  // namespace berth::conformance
