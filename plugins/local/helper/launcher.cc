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
#include "helper/namespaces.h"
#include "helper/probes.h"
#include "helper/sandbox_setup.h"

namespace berth::local {
namespace {

// Where a new init finds the gate, past what it keeps.
constexpr int kInitGate = 8;
// A template answers in a millisecond, or after the sandbox before this one is made.
constexpr int kTemplateMilliseconds = 3000;

// Where the process can be asked for its exact name: a number of this process's own namespace.
struct Sender {
  pid_t pid = -1;
  Forked said{};
};

// Takes the one message of a process that was just forked, with the kernel's word on who sent it.
// 0, or an errno.
int receive_forked(int socket, std::uint64_t id, Sender* sender) {
  pollfd watched{socket, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&watched, 1, kTemplateMilliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready != 1) return ready == 0 ? ETIMEDOUT : errno;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int) * kFdsMax)];
  iovec part{&sender->said, sizeof(sender->said)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got != static_cast<ssize_t>(sizeof(sender->said))) return got == 0 ? ECONNRESET : EPROTO;
  for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr; item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_CREDENTIALS) continue;
    ucred credentials{};
    std::memcpy(&credentials, CMSG_DATA(item), sizeof(credentials));
    sender->pid = credentials.pid;
  }
  const Header& header = sender->said.header;
  return header.kind == Kind::kForked && header.id == id && sender->pid > 0 ? 0 : EPROTO;
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
  int control = -1;   // of the template to fork from
  int ancestor = -1;  // that template's user namespace
  const int* tasks = nullptr;  // of the groups of version 1
  std::size_t tasks_count = 0;
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
  if ((request.descriptor_flags & kHasTemplate) != 0) {
    take(&parts->control);
    take(&parts->ancestor);
  }
  parts->tasks = message.fds + next;
  parts->tasks_count = request.cgroup_tasks_count;
  return parts->pid_file >= 0 && parts->tasks_count <= kCgroupDirsMax &&
         next + parts->tasks_count == message.fd_count;
}

// The owner of a user namespace is who is asked for all the kernel counts by user: pending signals,
// locked memory, queues, namespaces. With the identity of the sandbox as its owner, none of it is taken
// from the host's root. Capabilities stay, see run_launcher().
bool act_as(std::uint32_t user) {
  constexpr auto kKeep = ~std::uint32_t{0};
  return setresgid(kKeep, user, kKeep) == 0 && setresuid(kKeep, user, kKeep) == 0;
}

int move_up(int fd) { return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, kAboveKept); }

// In the new process: join the groups, keep three descriptors at known places, close all else, wait for
// the gate.
[[noreturn]] void become_init(const Create& request, const Parts& parts, int gate) {
  const int not_joined = join_groups(parts.tasks, parts.tasks_count);
  const int kept[] = {move_up(parts.init_socket), move_up(parts.liveness), move_up(parts.identity),
                      move_up(gate)};
  const int places[] = {kInitSocket, kInitLiveness, kInitIdentity, kInitGate};
  syscall(SYS_close_range, 3u, static_cast<unsigned>(kAboveKept - 1), 0u);
  for (std::size_t i = 0; i < 4; ++i) {
    if (kept[i] >= 0 && dup3(kept[i], places[i], O_CLOEXEC) < 0) _exit(1);
  }
  syscall(SYS_close_range, static_cast<unsigned>(kInitGate + 1), ~0u, 0u);
  syscall(SYS_close_range, static_cast<unsigned>(kInitTimer), static_cast<unsigned>(kInitGate - 1), 0u);
  char open_gate = 0;
  ssize_t got = 0;
  do {
    got = read(kInitGate, &open_gate, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) _exit(1);
  close(kInitGate);
  if (not_joined != 0) {
    SetupResult result;
    result.failure = make_failure(Layer::kCgroup, not_joined, "joining the control groups");
    send_ready(request, result);
    _exit(1);
  }
  run_init(request);
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
    } else if (parts.control >= 0) {
      pidfd = fork_from_template(request, parts, &answer);
    } else {
      pidfd = start(request, parts, &answer);
    }
    const int fds[] = {pidfd, user_namespace_};
    const std::size_t count = pidfd < 0 ? 0 : user_namespace_ < 0 ? 1 : 2;
    send_message(socket_, &answer, sizeof(answer), fds, count, 0);
    if (pidfd >= 0) close(pidfd);
    if (user_namespace_ >= 0) close(user_namespace_);
    user_namespace_ = -1;
  }

  // The pidfd of the new init, or -1 with the failure named and nothing left running.
  int start(const Create& request, const Parts& parts, LaunchAnswer* answer) {
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) != 0) {
      answer->failure = make_failure(Layer::kDescriptors, errno, "making the gate");
      return -1;
    }
    const bool owned = request.privileged != 0 && wanted(request.skipped_layers, Layer::kUser);
    const std::uint64_t flags = namespaces_of(request.skipped_layers);
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

  // The same, but the new process comes out of a template: it says itself that it is there, and waits at
  // the gate as any other.
  int fork_from_template(const Create& request, const Parts& parts, LaunchAnswer* answer) {
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) != 0) {
      answer->failure = make_failure(Layer::kDescriptors, errno, "making the gate");
      return -1;
    }
    Sender sender;
    int error = ask_template(request, parts, gate[0], &sender);
    close(gate[0]);
    int pidfd = -1;
    if (error == 0 && sender.said.failure.error != 0) {
      answer->failure = sender.said.failure;
    } else if (error == 0) {
      pidfd = static_cast<int>(syscall(SYS_pidfd_open, sender.pid, 0));
      if (pidfd < 0) error = errno;
    }
    if (error != 0) answer->failure = make_failure(Layer::kPid, error, "forking from the template");
    if (pidfd >= 0) {
      answer->pid = sender.pid;
      answer->failure = prepare(request, parts, sender.pid, answer);
    }
    const bool good = pidfd >= 0 && answer->failure.error == 0 && write(gate[1], "g", 1) == 1;
    close(gate[1]);  // which ends a process that still waits there
    if (good) return pidfd;
    if (pidfd >= 0) close(pidfd);
    return -1;
  }

  int ask_template(const Create& request, const Parts& parts, int gate, Sender* sender) {
    const int on = 1;
    if (setsockopt(parts.control, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) return errno;
    const int image = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (image < 0) return errno;
    const int unified =
        parts.unified < 0 ? -1 : openat(parts.unified, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (parts.unified >= 0 && unified < 0) {
      const int error = errno;
      close(image);
      return error;
    }
    Create wanted = request;
    wanted.header.kind = Kind::kFork;
    int fds[kFdsMax] = {parts.init_socket, parts.liveness, gate, image};
    std::size_t count = 4;
    if (parts.identity >= 0) fds[count++] = parts.identity;
    for (std::size_t i = 0; i < parts.tasks_count; ++i) fds[count++] = parts.tasks[i];
    if (unified >= 0) fds[count++] = unified;
    wanted.cgroup_tasks_count = static_cast<std::uint32_t>(parts.tasks_count + (unified >= 0 ? 1 : 0));
    int error = send_message(parts.control, &wanted, sizeof(wanted), fds, count, MSG_DONTWAIT);
    close(image);
    if (unified >= 0) close(unified);
    if (error == 0) error = receive_forked(parts.control, request.header.id, sender);
    return error;
  }

  // What only the parent can do for the new process before it goes on.
  LayerFailure prepare(const Create& request, const Parts& parts, pid_t child, LaunchAnswer* answer) {
    answer->start_time = start_time_of(child);
    char text[96];
    const int size = std::snprintf(text, sizeof(text), "%d %llu\n", child,
                                   static_cast<unsigned long long>(answer->start_time));
    // A template that failed may have left the number of its own attempt.
    if (ftruncate(parts.pid_file, 0) != 0 ||
        pwrite(parts.pid_file, text, static_cast<std::size_t>(size), 0) != size) {
      return make_failure(Layer::kPid, errno, "recording the process");
    }
    if (!wanted(request.skipped_layers, Layer::kUser)) return LayerFailure{};
    if (parts.control < 0) return map_identity(request, child);
    return map_beneath(request, parts.ancestor, child);
  }

  LayerFailure map_identity(const Create& request, pid_t child) {
    if (request.is_template != 0) {
      // Now, because an init cannot be asked for it any more by a user who is not root.
      char path[64];
      std::snprintf(path, sizeof(path), "/proc/%d/ns/user", child);
      user_namespace_ = open(path, O_RDONLY | O_CLOEXEC);
      if (user_namespace_ < 0) return make_failure(Layer::kUser, errno, "keeping the namespace");
    }
    if (request.privileged == 0) {
      const int error = write_process_file(child, "setgroups", "deny");
      if (error != 0) return make_failure(Layer::kUser, error, "giving up group changes");
    }
    const char* const files[] = {"uid_map", "gid_map"};
    const std::uint32_t own[] = {geteuid(), getegid()};
    for (int i = 0; i < 2; ++i) {
      char text[256];
      map_text(request, request.privileged != 0 ? request.outer_id : own[i], text, sizeof(text));
      const int error = write_process_file(child, files[i], text);
      if (error != 0) return make_failure(Layer::kUser, error, "mapping the identity");
    }
    return LayerFailure{};
  }

  // The one identity of a sandbox; in a template all others of the range too, each as itself.
  static void map_text(const Create& request, std::uint32_t outer, char* text, std::size_t room) {
    const int size = std::snprintf(text, room, "%u %u 1\n", request.inner_id, outer);
    if (request.is_template == 0 || request.privileged == 0) return;
    const std::uint32_t base = request.identity_base;
    const std::uint32_t end = base + request.identity_count;
    char* at = text + size;
    if (outer > base) at += std::sprintf(at, "%u %u %u\n", base, base, outer - base);
    if (outer + 1 < end) std::sprintf(at, "%u %u %u\n", outer + 1, outer + 1, end - outer - 1);
  }

  // A user namespace below a template's is mapped from that template's, which this process is above of:
  // a child of it goes there for the moment it takes.
  LayerFailure map_beneath(const Create& request, int ancestor, pid_t child) {
    const pid_t mapper = fork();
    if (mapper == 0) {
      if (setns(ancestor, CLONE_NEWUSER) != 0) _exit(errno);
      char text[64];
      std::snprintf(text, sizeof(text), "%u %u 1\n", request.inner_id,
                    request.privileged != 0 ? request.outer_id : request.inner_id);
      const int error = write_process_file(child, "uid_map", text);
      _exit(error != 0 ? error : write_process_file(child, "gid_map", text));
    }
    int status = 0;
    if (mapper < 0 || waitpid(mapper, &status, 0) != mapper) {
      return make_failure(Layer::kUser, errno, "mapping the identity from the template's namespace");
    }
    const int error = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    if (error == 0) return LayerFailure{};
    return make_failure(Layer::kUser, error, "mapping the identity from the template's namespace");
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
  int user_namespace_ = -1;  // of the template that was just made
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
