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
  int identity;  // -1: none
};

// What lives from the template's request to the interpreter's return.
struct Shared {
  Received message;
  Create request;
  Parts parts;
  int control;
  int interpreter_socket;  // in the interpreter: its end of the pair
  jmp_buf back;            // into the template's own stack
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
  // The launcher asks the kernel who said this.
  Forked hello{};
  hello.header = Header{Kind::kForked, 0, shared.request.header.id};
  int gate = -1;
  int image = -1;
  if (send_message(shared.control, hello) != 0) _exit(1);
  if (!place_descriptors(shared.parts, &gate, &image) || !gate_opens(gate)) _exit(1);
  signal(SIGCHLD, SIG_DFL);
  const SetupResult result = prepare_init(shared.request);
  for (const int fd : kKeptAtExec) fcntl(fd, F_SETFD, 0);
  if (!send_ready(shared.request, result)) _exit(1);

  // A sandbox without an interpreter starts one when it is asked to.
  pid_t interpreter = 0;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
    interpreter = fork();
    if (interpreter == 0) {
      shared.interpreter_socket = pair[1];
      longjmp(shared.back, 1);
    }
    if (dup2(pair[0], kInitInterpreter) < 0) interpreter = 0;
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

// The owner of a user namespace is who makes it. An ordinary user has one identity for all.
bool act_as(std::uint32_t user) {
  constexpr auto kKeep = ~std::uint32_t{0};
  if (shared.request.privileged == 0) return true;
  return setresgid(kKeep, user, kKeep) == 0 && setresuid(kKeep, user, kKeep) == 0;
}

void make_sandbox() {
  const int* fds = shared.message.fds;
  shared.parts = Parts{fds[0], fds[1], fds[2], fds[3], shared.message.fd_count > 4 ? fds[4] : -1};
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

// The interpreter, back on the template's stack: it keeps its streams and its socket.
int settle() {
  signal(SIGCHLD, SIG_DFL);
  register_processor_number();
  constexpr int kPlace = 3;
  if (dup3(shared.interpreter_socket, kPlace, O_CLOEXEC) < 0 && shared.interpreter_socket != kPlace) {
    _exit(1);
  }
  syscall(SYS_close_range, kPlace + 1u, ~0u, 0u);
  prctl(PR_SET_NAME, "python3", 0, 0, 0);
  return kPlace;
}

}  // namespace
}  // namespace berth::local

// What is used of the interpreter that loads this, which has these symbols whatever its minor version.
extern "C" {
struct PyObject;
struct PyMethod {
  const char* name;
  PyObject* (*call)(PyObject*, PyObject*);
  int flags;
  const char* documentation;
};
extern PyObject* PyExc_SystemExit;
int PyArg_UnpackTuple(PyObject*, const char*, std::ptrdiff_t, std::ptrdiff_t, ...);
PyObject* PyObject_CallFunctionObjArgs(PyObject*, ...);
void PyErr_SetObject(PyObject*, PyObject*);
PyObject* PyCMethod_New(PyMethod*, PyObject*, PyObject*, PyObject*);
}

namespace {

// sys.exit, but the exception it raises exists as an object from the start, so that the interpreter asks
// it for its code at the end.
PyObject* raise_exit(PyObject*, PyObject* arguments) {
  PyObject* status = nullptr;
  if (PyArg_UnpackTuple(arguments, "exit", 0, 1, &status) == 0) return nullptr;
  PyObject* const error = PyObject_CallFunctionObjArgs(PyExc_SystemExit, status, nullptr);
  if (error != nullptr) PyErr_SetObject(PyExc_SystemExit, error);
  return nullptr;
}

}  // namespace

// What the Python half calls. It holds the interpreter's lock throughout.
extern "C" {

#define BERTH_EXPORT __attribute__((visibility("default")))

// Serves until the control socket ends, which ends the process. Returns in every interpreter that is
// forked, with the socket to its init.
BERTH_EXPORT int berth_template_serve(int control) {
  using namespace berth::local;
  shared.control = control;
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

// Whether the command is there already.
BERTH_EXPORT int berth_template_is_asked(int socket) {
  pollfd watched{socket, POLLIN, 0};
  return poll(&watched, 1, 0) == 1 ? 1 : 0;
}

// Waits for the command of this sandbox and takes on all of it but the program. Returns the number of
// its arguments.
BERTH_EXPORT int berth_template_await(int socket) {
  using namespace berth::local;
  if (receive_message(socket, &asked.message, 0) != ReceiveResult::kMessage) _exit(0);
  const Run* request = asked.message.as<Run>(Kind::kRun);
  if (request == nullptr || asked.message.fd_count != 5) _exit(1);
  asked.report = asked.message.fds[4];
  asked.command = prepare_command(*request, shared.request.skipped_layers, asked.message.fds, asked.report);
  // What a freshly executed program is.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return static_cast<int>(request->argument_count);
}

BERTH_EXPORT const char* berth_template_argument(int index) { return berth::local::asked.command.argv[index]; }

// The command's environment, or nullptr behind its end.
BERTH_EXPORT const char* berth_template_variable(int index) {
  return berth::local::asked.command.environment[index];
}

// Runs the program in the ordinary way instead.
BERTH_EXPORT void berth_template_execute() {
  berth::local::execute_command(berth::local::asked.command, berth::local::asked.report);
}

// The function that takes the place of sys.exit.
BERTH_EXPORT PyObject* berth_template_exit(PyObject* module, PyObject* name, const char* documentation) {
  constexpr int kVariableArguments = 1;
  static PyMethod method{"exit", raise_exit, kVariableArguments, documentation};
  return PyCMethod_New(&method, module, name, nullptr);
}

// Ends the process as the end of the interpreter would.
BERTH_EXPORT void berth_template_end(int code) {
  std::fflush(nullptr);
  _exit(code);
}

// From here on this interpreter is the program: what is left of the protocol is closed. The program is
// shown by its own arguments where there is room for them.
BERTH_EXPORT void berth_template_become(char* area, std::size_t room) {
  using namespace berth::local;
  syscall(SYS_close_range, 3u, ~0u, 0u);
  std::memset(area, 0, room);
  std::size_t at = 0;
  for (char** argument = asked.command.argv; *argument != nullptr; ++argument) {
    const std::size_t size = std::strlen(*argument) + 1;
    if (at + size >= room) break;
    std::memcpy(area + at, *argument, size);
    at += size;
  }
}
}
