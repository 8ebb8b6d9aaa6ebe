// The native half of a template: loaded into its interpreter, it makes each sandbox and the interpreter
// that waits in it.
//
//   template --clone(shared memory, new namespaces)--> process 1 --fork--> interpreter
//
// The first of the two shares the template's memory for the moment it needs to build the walls, so that
// only one copy of that memory is ever made, the interpreter's; the template stands still meanwhile, and
// process 1 then executes the small static init. The interpreter therefore has every wall by
// inheritance, from the same code and in the same order as a command of any other sandbox.
//
// Everything here runs in one thread and without allocation, apart from what the C library's own fork
// does.
#include "template/fork.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "helper/channel.h"
#include "helper/clocks.h"
#include "helper/command_child.h"
#include "helper/init.h"
#include "helper/namespaces.h"
#include "helper/sandbox_setup.h"

namespace berth::local {
namespace {

constexpr int kKeptAtExec[] = {0, 1, 2, kInitTimer};
constexpr std::size_t kStackBytes = 256 * 1024;

// Of one Fork: what came with it, in the order of wire.h.
struct Parts {
  int socket;
  int liveness;
  int gate;
  int image;
  int identity;       // -1: none
  const int* groups;  // to join
  std::size_t groups_count;
};

// What lives from the template's request to the interpreter's return.
struct Shared {
  Received message;
  Create request;
  Parts parts;
  int control;
  Keeps keeps;
  char name[16];  // of the interpreter's process, as ps shows it
  ClockStarts clocks;
  int pair[2];   // of the init and its interpreter
  jmp_buf back;  // into the template's own stack
};

Shared shared;
alignas(64) char stack[kStackBytes];

// What the interpreter was asked to run.
struct Asked {
  Received message;
  PreparedCommand command;
  int report = -1;
};
Asked asked;

int raised(int fd) { return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, kAboveKept); }

// Puts what the init keeps where it looks for it. Inherited by an exec, unlike all else.
bool place_descriptors(const Parts& parts, int* gate, int* image) {
  const int kept[] = {raised(parts.socket), raised(parts.liveness), raised(parts.identity)};
  const int places[] = {kInitSocket, kInitLiveness, kInitIdentity};
  *gate = raised(parts.gate);
  *image = raised(parts.image);
  if (*gate < 0 || *image < 0) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (kept[i] >= 0 && dup2(kept[i], places[i]) < 0) return false;
  }
  return true;
}

bool gate_opens(int gate) {
  char open_gate = 0;
  ssize_t got = 0;
  do {
    got = read(gate, &open_gate, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

// The kernel forgets where the C library keeps the number of the processor in a process that shared its
// memory, and a copy of that process does not get it back by itself.
void register_processor_number() {
#ifdef RSEQ_SIG
  char* const area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  syscall(SYS_rseq, area, 32, 0, RSEQ_SIG);
#endif
}

// In the new process 1. Its socket's end, or its exit, tells the provider whatever goes wrong here.
int become_process_1(void*) {
  const int not_joined = join_groups(shared.parts.groups, shared.parts.groups_count);
  // The launcher asks the kernel who said this.
  Forked hello{};
  hello.header = Header{Kind::kForked, 0, shared.request.header.id};
  int gate = -1;
  int image = -1;
  if (send_message(shared.control, hello) != 0) _exit(1);
  if (!place_descriptors(shared.parts, &gate, &image) || !gate_opens(gate)) _exit(1);
  signal(SIGCHLD, SIG_DFL);
  SetupResult result;
  if (not_joined != 0) {
    result.failure = make_failure(Layer::kCgroup, not_joined, "joining the control groups");
  } else {
    result = prepare_init(shared.request);
  }
  for (const int fd : kKeptAtExec) fcntl(fd, F_SETFD, 0);
  if (!send_ready(shared.request, result)) _exit(1);

  // A sandbox without an interpreter starts one when it is asked to.
  pid_t interpreter = 0;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, shared.pair) == 0) {
    interpreter = fork();
    if (interpreter == 0) longjmp(shared.back, 1);
    if (dup2(shared.pair[0], kInitInterpreter) < 0) interpreter = 0;
  }
  char number[16];
  char skipped[16];
  std::snprintf(number, sizeof(number), "%d", interpreter > 0 ? interpreter : 0);
  std::snprintf(skipped, sizeof(skipped), "%u", shared.request.skipped_layers);
  char name[] = "berth-init";
  char empty[] = "";
  char* arguments[] = {name, number, skipped, nullptr};
  char* environment[] = {nullptr};
  syscall(SYS_execveat, image, empty, arguments, environment, AT_EMPTY_PATH);
  _exit(1);
}

void answer_failure(int error) {
  Forked answer{};
  answer.header = Header{Kind::kForked, 0, shared.request.header.id};
  answer.failure = make_failure(Layer::kPid, error, "forking the template");
  send_message(shared.control, answer);
}

// The owner of a user namespace is who makes it. An ordinary user has one identity for all. The kernel is
// asked itself, since the C library would change every thread there is.
bool act_as(std::uint32_t user) {
  constexpr long kKeep = -1;
  if (shared.request.privileged == 0) return true;
  return syscall(SYS_setresgid, kKeep, user, kKeep) == 0 && syscall(SYS_setresuid, kKeep, user, kKeep) == 0;
}

void make_sandbox() {
  const int* fds = shared.message.fds;
  const std::size_t groups = shared.request.cgroup_tasks_count;
  if (shared.message.fd_count < 4 + groups) return answer_failure(EINVAL);
  const bool locked = shared.message.fd_count > 4 + groups;
  shared.parts = Parts{fds[0], fds[1], fds[2],           fds[3], locked ? fds[4] : -1,
                       fds + (locked ? 5 : 4), groups};
  shared.request.clocks = shared.clocks;
  const auto flags = static_cast<int>(namespaces_of(shared.request.skipped_layers));
  if (!act_as(shared.request.outer_id)) return answer_failure(errno);
  // Changing identity made the memory this process shares untraceable, and then not even its own
  // launcher may write its identity maps.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  if (clone(become_process_1, stack + kStackBytes, flags | CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr) < 0) {
    answer_failure(errno);
  }
  if (!act_as(shared.request.inner_id)) _exit(1);
}

// Closes what came with the request, what process 1 put in the places of an init, and what it raised on
// the way there. The template's own descriptors are between these two.
void close_what_the_fork_took() {
  syscall(SYS_close_range, static_cast<unsigned>(kAboveKept), ~0u, 0u);
  const int socket = raised(shared.pair[1]);
  if (socket < 0) _exit(1);
  for (const int fd : shared.pair) close(fd);
  close_received(&shared.message);
  syscall(SYS_close_range, 3u, static_cast<unsigned>(kInitInterpreter), 0u);
  if (dup3(socket, kInterpreterSocket, O_CLOEXEC) < 0) _exit(1);
  close(socket);
}

void keep_streams_alone() {
  const int socket = shared.pair[1];
  if (socket != kInterpreterSocket && dup3(socket, kInterpreterSocket, O_CLOEXEC) < 0) _exit(1);
  syscall(SYS_close_range, kInterpreterSocket + 1u, ~0u, 0u);
}

// The interpreter, back on the template's stack.
void settle() {
  signal(SIGCHLD, SIG_DFL);
  register_processor_number();
  switch (shared.keeps) {
    case Keeps::kStreams: keep_streams_alone(); break;
    case Keeps::kOwn: close_what_the_fork_took(); break;
  }
  prctl(PR_SET_NAME, shared.name, 0, 0, 0);
}

}  // namespace

void serve_forks(int control, Keeps keeps) {
  shared.control = control;
  shared.keeps = keeps;
  prctl(PR_GET_NAME, shared.name, 0, 0, 0);
  shared.clocks = clocks_from_now();
  signal(SIGCHLD, SIG_IGN);  // reaped by the kernel
  if (setjmp(shared.back) != 0) return settle();
  Forked warm{};
  warm.header.kind = Kind::kWarm;
  if (send_message(control, warm) != 0) _exit(0);
  while (true) {
    if (receive_message(control, &shared.message, 0) != ReceiveResult::kMessage) _exit(0);
    const Create* request = shared.message.as<Create>(Kind::kFork);
    if (request == nullptr || shared.message.fd_count < 4) _exit(1);
    shared.request = *request;
    make_sandbox();
    close_received(&shared.message);
  }
}

bool has_time() {
  pollfd watched{kInterpreterSocket, POLLIN, 0};
  return shared.request.made_ahead != 0 && poll(&watched, 1, 0) == 0;
}

int await_command() {
  if (receive_message(kInterpreterSocket, &asked.message, 0) != ReceiveResult::kMessage) _exit(0);
  const Run* request = asked.message.as<Run>(Kind::kRun);
  if (request == nullptr || asked.message.fd_count != 5) _exit(1);
  asked.report = asked.message.fds[4];
  asked.command = prepare_command(*request, shared.request.skipped_layers, asked.message.fds, asked.report);
  // What a freshly executed program is.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return static_cast<int>(request->argument_count);
}

const PreparedCommand& taken_command() { return asked.command; }

void execute_taken_command() { execute_command(asked.command, asked.report); }

void become_program(char* area, std::size_t room) {
  switch (shared.keeps) {
    case Keeps::kStreams: syscall(SYS_close_range, 3u, ~0u, 0u); break;
    case Keeps::kOwn:
      close_received(&asked.message);
      close(kInterpreterSocket);
      break;
  }
  std::memset(area, 0, room);
  std::size_t at = 0;
  for (char** argument = asked.command.argv; *argument != nullptr; ++argument) {
    const std::size_t size = std::strlen(*argument) + 1;
    if (at + size >= room) break;
    std::memcpy(area + at, *argument, size);
    at += size;
  }
}

}  // namespace berth::local
