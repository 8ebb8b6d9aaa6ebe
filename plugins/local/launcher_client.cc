#include "launcher_client.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "berth/outcome.hpp"
#include "helper/channel.h"
#include "helper_image.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace berth::local {
namespace {

// A launcher answers in a millisecond; one that does not in this time is replaced.
constexpr int kAnswerMilliseconds = 20'000;
constexpr int kSocketInChild = 3;

// A copy of the helper that nobody can change any more, not even through /proc/<pid>/exe.
Fd sealed_helper(std::string* problem) {
  const std::string_view image = helper_image();
  int raw = memfd_create("berth-local", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (raw < 0 && errno == EINVAL) raw = memfd_create("berth-local", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  Fd fd(raw);
  int error = fd.valid() ? write_fully(fd.get(), image) : errno;
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (error == 0 && fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) error = errno;
  if (error != 0) {
    *problem = "cannot make a sealed copy of the helper: " + error_text(error);
    return {};
  }
  return fd;
}

struct SpawnActions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  SpawnActions() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

// With no environment, no descriptor but its socket, usual signals, and a session of its own, so that
// a terminal's interrupt meant for the host does not end the sandboxes under it.
int spawn_helper(int image, int socket, pid_t* pid) {
  SpawnActions actions;
  for (int fd = 0; fd < 3; ++fd) {
    posix_spawn_file_actions_addopen(&actions.files, fd, "/dev/null", O_RDWR, 0);
  }
  posix_spawn_file_actions_adddup2(&actions.files, socket, kSocketInChild);
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&actions.attributes, &all);
  posix_spawnattr_setsigmask(&actions.attributes, &none);
  posix_spawnattr_setflags(&actions.attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSID);
  const std::string path = "/proc/self/fd/" + std::to_string(image);
  char name[] = "berth-local";
  char* argv[] = {name, nullptr};
  char* environment[] = {nullptr};
  return posix_spawn(pid, path.c_str(), &actions.files, &actions.attributes, argv, environment);
}

}  // namespace

std::string LauncherClient::start() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return start_locked();
}

std::string LauncherClient::start_locked() {
  if (socket_.valid()) return {};
  std::string problem;
  // Above the places the child's streams and socket take, so that no action overwrites another.
  const Fd low = sealed_helper(&problem);
  if (!low.valid()) return problem;
  const Fd image(fcntl(low.get(), F_DUPFD_CLOEXEC, 16));
  int raw[2];
  if (!image.valid() || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw) != 0) {
    return "cannot make the launcher's socket: " + error_text(errno);
  }
  Fd ours(raw[0]);
  const Fd low_theirs(raw[1]);
  const Fd theirs(fcntl(low_theirs.get(), F_DUPFD_CLOEXEC, 16));
  const int error = theirs.valid() ? spawn_helper(image.get(), theirs.get(), &pid_) : errno;
  if (error != 0) {
    pid_ = -1;
    return "cannot start the launcher: " + error_text(error);
  }
  socket_ = std::move(ours);
  return {};
}

void LauncherClient::ask(const void* request, std::size_t size, const std::vector<int>& fds,
                         Kind answer_kind, void* answer, std::size_t answer_size,
                         std::vector<Fd>* attached) {
  const std::string problem = start_locked();
  if (!problem.empty()) throw Failure::rejected(Code::kUnavailable, problem);
  const int error = send_message(socket_.get(), request, size, fds.data(), fds.size(), 0);
  if (error != 0) {
    stop_locked();
    throw Failure::rejected(Code::kUnavailable, "the launcher is gone: " + error_text(error));
  }
  pollfd watched{socket_.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&watched, 1, kAnswerMilliseconds);
  } while (ready < 0 && errno == EINTR);
  Received message;
  const bool came = ready == 1 && receive_message(socket_.get(), &message, MSG_DONTWAIT) ==
                                      ReceiveResult::kMessage;
  const bool fits = came && message.size == answer_size && message.header().kind == answer_kind &&
                    message.fd_count <= 2;
  if (!fits) {
    if (came) close_received(&message);
    stop_locked();
    throw Failure::uncertain(Code::kUnavailable, "the launcher ended or did not answer");
  }
  std::memcpy(answer, message.bytes, answer_size);
  for (std::size_t i = 0; i < message.fd_count; ++i) attached->emplace_back(message.fds[i]);
}

Probed LauncherClient::probe() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Header request{Kind::kProbe, 0, next_id_++};
  Probed answer{};
  std::vector<Fd> none;
  ask(&request, sizeof(request), {}, Kind::kProbed, &answer, sizeof(answer), &none);
  return answer;
}

Launched LauncherClient::create(Create request, const LaunchParts& parts) {
  std::vector<int> fds{parts.init_socket, parts.liveness, parts.pid_file};
  request.descriptor_flags = 0;
  if (parts.identity >= 0) {
    request.descriptor_flags |= kHasIdentityLock;
    fds.push_back(parts.identity);
  }
  if (parts.unified >= 0) {
    request.descriptor_flags |= kHasUnifiedFolder;
    fds.push_back(parts.unified);
  }
  if (parts.control >= 0) {
    request.descriptor_flags |= kHasTemplate;
    fds.insert(fds.end(), {parts.control, parts.ancestor});
  }
  fds.insert(fds.end(), parts.tasks.begin(), parts.tasks.end());
  request.cgroup_tasks_count = static_cast<std::uint32_t>(parts.tasks.size());

  const std::lock_guard<std::mutex> lock(mutex_);
  request.header = Header{Kind::kCreate, 0, next_id_++};
  LaunchAnswer answer{};
  Launched launched;
  std::vector<Fd> attached;
  ask(&request, sizeof(request), fds, Kind::kCreated, &answer, sizeof(answer), &attached);
  if (!attached.empty()) launched.pidfd = std::move(attached[0]);
  if (attached.size() > 1) launched.user_namespace = std::move(attached[1]);
  launched.pid = answer.pid;
  launched.start_time = answer.start_time;
  launched.failure = answer.failure;
  launched.failure.text[kTextMaxBytes - 1] = '\0';
  return launched;
}

void LauncherClient::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stop_locked();
}

void LauncherClient::stop_locked() {
  socket_.reset();
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace berth::local
