#include "helper/launcher.h"

#include <fcntl.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "helper/channel.h"
#include "helper/init.h"
#include "helper/layers.h"
#include "helper/probes.h"
#include "helper/sandbox_setup.h"

namespace berth::local {
namespace {

// Where a new init finds what it keeps of its parent's descriptors.
constexpr int kInitSocket = 3;
constexpr int kInitLiveness = 4;
constexpr int kInitIdentity = 5;
constexpr int kInitGate = 6;
constexpr int kAboveKept = 64;

int write_decimal(int fd, long long number) {
  char text[32];
  const int size = std::snprintf(text, sizeof(text), "%lld", number);
  return write(fd, text, static_cast<std::size_t>(size)) == size ? 0 : errno;
}

int write_process_file(pid_t pid, const char* name, const char* text) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const auto size = static_cast<ssize_t>(std::strlen(text));
  const int error = write(fd, text, static_cast<std::size_t>(size)) == size ? 0 : errno;
  close(fd);
  return error;
}

// Field 22 of /proc/<pid>/stat, counted after the name, which may hold spaces and parentheses.
std::uint64_t start_time_of(pid_t pid) {
  char path[64];
  char text[1024];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

// The descriptors of one Create, by name.
struct Parts {
  int init_socket = -1;
  int liveness = -1;
  int pid_file = -1;
  int identity = -1;
  int unified = -1;
  const int* procs = nullptr;
  std::size_t procs_count = 0;
};

bool take_parts(const Create& request, const Received& message, Parts* parts) {
  std::size_t next = 0;
  const auto take = [&](int* into) {
    if (next < message.fd_count) *into = message.fds[next++];
  };
  take(&parts->init_socket);
  take(&parts->liveness);
  take(&parts->pid_file);
  if ((request.descriptor_flags & kHasIdentityLock) != 0) take(&parts->identity);
  if ((request.descriptor_flags & kHasUnifiedFolder) != 0) take(&parts->unified);
  parts->procs = message.fds + next;
  parts->procs_count = request.cgroup_procs_count;
  return parts->pid_file >= 0 && parts->procs_count <= kCgroupDirsMax &&
         next + parts->procs_count == message.fd_count;
}

// The owner of a user namespace is who is asked for all the kernel counts by user: watches, pending
// signals, locked memory, namespaces. With the identity of the sandbox as its owner, none of it is taken
// from the host's root. Capabilities stay, see run_launcher().
bool act_as(std::uint32_t user) {
  constexpr auto kKeep = ~std::uint32_t{0};
  return setresgid(kKeep, user, kKeep) == 0 && setresuid(kKeep, user, kKeep) == 0;
}

int move_up(int fd) { return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, kAboveKept); }

// In the new process: keep four descriptors at known places, close all else, wait for the gate.
[[noreturn]] void become_init(const Create& request, const Parts& parts, int gate) {
  const int kept[] = {move_up(parts.init_socket), move_up(parts.liveness), move_up(parts.identity),
                      move_up(gate)};
  const int places[] = {kInitSocket, kInitLiveness, kInitIdentity, kInitGate};
  syscall(SYS_close_range, 3u, static_cast<unsigned>(kAboveKept - 1), 0u);
  for (std::size_t i = 0; i < 4; ++i) {
    if (kept[i] >= 0 && dup3(kept[i], places[i], O_CLOEXEC) < 0) _exit(1);
  }
  syscall(SYS_close_range, static_cast<unsigned>(kInitGate + 1), ~0u, 0u);
  char open_gate = 0;
  ssize_t got = 0;
  do {
    got = read(kInitGate, &open_gate, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) _exit(1);
  close(kInitGate);
  run_init(request, kInitSocket);
}

class Launcher {
 public:
  explicit Launcher(int socket, int signals) : socket_(socket), signals_(signals) {}

  [[noreturn]] void serve() {
    pollfd watched[2] = {{socket_, POLLIN, 0}, {signals_, POLLIN, 0}};
    while (true) {
      if (poll(watched, 2, -1) < 0 && errno != EINTR) _exit(1);
      if (watched[1].revents != 0) reap();
      if (watched[0].revents == 0) continue;
      static Received message;
      if (receive_message(socket_, &message, 0) != ReceiveResult::kMessage) _exit(0);
      if (message.header().kind == Kind::kProbe) {
        probe(message.header().id);
      } else if (const Create* request = message.as<Create>(Kind::kCreate)) {
        create(*request, message);
      } else {
        _exit(1);
      }
      close_received(&message);
    }
  }

 private:
  void reap() {
    signalfd_siginfo ignored;
    while (read(signals_, &ignored, sizeof(ignored)) > 0) {
    }
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  void probe(std::uint64_t id) {
    Probed answer{};
    answer.header = Header{Kind::kProbed, 0, id};
    probe_layers(&answer);
    send_message(socket_, answer);
  }

  void create(const Create& request, const Received& message) {
    LaunchAnswer answer{};
    answer.header = Header{Kind::kCreated, 0, request.header.id};
    Parts parts;
    int pidfd = -1;
    if (!take_parts(request, message, &parts)) {
      answer.failure = make_failure(Layer::kDescriptors, EINVAL, "reading the description");
    } else if ((request.skipped_layers & ~kMayBeOff) != 0) {
      answer.failure = make_failure(Layer::kUser, EINVAL, "leaving out what no sandbox can do without");
    } else {
      pidfd = start(request, parts, &answer);
    }
    send_message(socket_, &answer, sizeof(answer), &pidfd, pidfd >= 0 ? 1 : 0, 0);
    if (pidfd >= 0) close(pidfd);
  }

  // The pidfd of the new init, or -1 with the failure named and nothing left running.
  int start(const Create& request, const Parts& parts, LaunchAnswer* answer) {
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) != 0) {
      answer->failure = make_failure(Layer::kDescriptors, errno, "making the gate");
      return -1;
    }
    std::uint64_t flags = wanted(request.skipped_layers, Layer::kUser) ? CLONE_NEWUSER : 0;
    for (const NamespaceFlag& item : kClonedNamespaces) {
      if (wanted(request.skipped_layers, item.layer)) flags |= item.flag;
    }
    const bool owned = request.privileged != 0 && wanted(request.skipped_layers, Layer::kUser);
    int pidfd = -1;
    const pid_t child = owned && !act_as(request.outer_id) ? -1 : clone_process(flags, parts.unified, &pidfd);
    if (child == 0) become_init(request, parts, gate[0]);
    const int clone_error = errno;
    close(gate[0]);
    if (owned && !act_as(0)) _exit(1);
    if (child < 0) {
      close(gate[1]);
      answer->failure = clone_failure(request, clone_error);
      return -1;
    }
    answer->pid = child;
    answer->failure = prepare(request, parts, child, answer);
    const bool good = answer->failure.error == 0 && write(gate[1], "g", 1) == 1;
    close(gate[1]);
    if (good) return pidfd;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(pidfd);
    return -1;
  }

  // What only the parent can do for the new process before it goes on.
  LayerFailure prepare(const Create& request, const Parts& parts, pid_t child, LaunchAnswer* answer) {
    answer->start_time = start_time_of(child);
    char text[96];
    const int size = std::snprintf(text, sizeof(text), "%d %llu\n", child,
                                   static_cast<unsigned long long>(answer->start_time));
    if (write(parts.pid_file, text, static_cast<std::size_t>(size)) != size) {
      return make_failure(Layer::kPid, errno, "recording the process");
    }
    for (std::size_t i = 0; i < parts.procs_count; ++i) {
      const int error = write_decimal(parts.procs[i], child);
      if (error != 0) return make_failure(Layer::kCgroup, error, "joining the control groups");
    }
    if (!wanted(request.skipped_layers, Layer::kUser)) return LayerFailure{};
    if (request.privileged == 0) {
      const int error = write_process_file(child, "setgroups", "deny");
      if (error != 0) return make_failure(Layer::kUser, error, "giving up group changes");
    }
    std::snprintf(text, sizeof(text), "%u %u 1\n", request.inner_id,
                  request.privileged != 0 ? request.outer_id : geteuid());
    int error = write_process_file(child, "uid_map", text);
    if (error != 0) return make_failure(Layer::kUser, error, "mapping the user");
    std::snprintf(text, sizeof(text), "%u %u 1\n", request.inner_id,
                  request.privileged != 0 ? request.outer_id : getegid());
    error = write_process_file(child, "gid_map", text);
    if (error != 0) return make_failure(Layer::kUser, error, "mapping the group");
    return LayerFailure{};
  }

  // clone3 does not say which namespace it could not make; trying them one by one does.
  LayerFailure clone_failure(const Create& request, int error) {
    const int user = try_namespace(0);
    if (user != 0) return make_failure(Layer::kUser, user, "making the user namespace");
    for (const NamespaceFlag& item : kClonedNamespaces) {
      if (!wanted(request.skipped_layers, item.layer)) continue;
      const int one = try_namespace(item.flag);
      if (one != 0) return make_failure(item.layer, one, "making the namespace");
    }
    return make_failure(Layer::kCgroup, error, "starting the first process in its control group");
  }

  const int socket_;
  const int signals_;
};

}  // namespace

void run_launcher(int socket) {
  prctl(PR_SET_NAME, "berth-launcher", 0, 0, 0);
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  const int signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0 || chdir("/") != 0) _exit(1);
  // Who makes sandboxes as root acts as another user for a moment and needs its capabilities meanwhile.
  if (geteuid() == 0 && prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) != 0) _exit(1);
  Launcher(socket, signals).serve();
}

}  // namespace berth::local
