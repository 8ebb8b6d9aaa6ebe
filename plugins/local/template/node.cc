// The native half of a template of Node.js: an addon, which the template also preloads.
//
// Node keeps threads, descriptors and memory that a fork does not bring along or may not share. What is
// done about each:
//   memory       V8 asks the kernel to leave its heap out of a fork; that is taken back.
//   threads      the kernel starts a fork with one. Node's workers sleep until there is work; where each
//                sleeps is known, and in a fork it goes on from there when somebody wakes it, see
//                sleepers.h.
//   descriptors  those of the event loop are made anew; the others are replaced, since what is behind a
//                number would be the template's and that of every fork.
//   generators   OpenSSL's is seeded again here, V8's in the JavaScript half.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "helper/init.h"
#include "template/fork.h"
#include "template/node_api.h"
#include "template/sleepers.h"
#include "template/touched.h"

#ifndef MADV_DOFORK
#define MADV_DOFORK 11
#endif

#define BERTH_EXPORT __attribute__((visibility("default")))

extern char** environ;

namespace berth::local {
namespace {

// A descriptor of the template's own, and what was behind it.
struct Own {
  int number;
  bool polls;  // it waits for others
  dev_t device;
  ino_t inode;
};

struct State {
  uv_loop_s* loop;
  int (*seed)();  // OpenSSL's
  Own own[kAboveKept];
  std::size_t own_count;
  const char* problem;
  int code = -1;  // what the program ends with, once that is known
};

State state;

// ---- before the first fork

// Reads a small file of /proc. Its length; 0 when it cannot be read.
std::size_t read_text(const char* path, char* text, std::size_t room) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::size_t size = 0;
  ssize_t got = 0;
  while (size + 1 < room && (got = read(fd, text + size, room - 1 - size)) > 0) {
    size += static_cast<std::size_t>(got);
  }
  close(fd);
  text[size] = '\0';
  return size;
}

// A line of /proc/self/maps is a range, what may be done with it, and where it is from.
bool copy_all_memory() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return false;
  char line[512];
  bool whole = true;
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    if (std::strchr(line, '\n') == nullptr) continue;  // the rest of a long name
    unsigned long first = 0;
    unsigned long last = 0;
    char rights[8] = {};
    if (std::sscanf(line, "%lx-%lx %7s", &first, &last, rights) != 3) continue;
    if (rights[1] == 'w' && rights[3] == 's') whole = false;
    // The kernel's own pages refuse, and are in every fork anyway.
    madvise(reinterpret_cast<void*>(first), last - first, MADV_DOFORK);
  }
  std::fclose(maps);
  if (!whole) state.problem = "it shares memory that a fork would share too";
  return whole;
}

bool polls(int fd) {
  char path[32];
  char target[64] = {};
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  return readlink(path, target, sizeof(target) - 1) > 0 && std::strstr(target, "[eventpoll]") != nullptr;
}

bool note_descriptors() {
  state.own_count = 0;
  for (int fd = kInitInterpreter + 1; fd < 1024; ++fd) {
    struct stat info{};
    if (fstat(fd, &info) != 0) continue;
    if (fd >= kAboveKept) {
      state.problem = "it has more files open than a fork can replace";
      return false;
    }
    state.own[state.own_count++] = Own{fd, polls(fd), info.st_dev, info.st_ino};
  }
  return true;
}

// A thread may wait for others or for its own event loop; whatever else it does, nobody does in a fork.
bool thread_waits(const char* id) {
  char path[64];
  char text[256];
  std::snprintf(path, sizeof(path), "/proc/self/task/%s/syscall", id);
  long number = -1;
  if (read_text(path, text, sizeof(text)) == 0 || std::sscanf(text, "%ld", &number) != 1) return false;
#ifdef SYS_epoll_wait
  if (number == SYS_epoll_wait) return true;
#endif
  return number == SYS_futex || number == SYS_epoll_pwait;
}

// All but the one that asks.
bool threads_wait() {
  DIR* const folder = opendir("/proc/self/task");
  if (folder == nullptr) return false;
  bool all = true;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.' || std::atoi(entry->d_name) == getpid()) continue;
    all = all && thread_waits(entry->d_name);
  }
  closedir(folder);
  return all;
}

// What was just collected or compiled may still be at work in a thread.
bool await_threads() {
  constexpr int kAttempts = 200;
  constexpr useconds_t kPauseUs = 10'000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const unsigned long before = sleeps();
    if (before != 0 && threads_wait() && sleeps() == before) return true;
    usleep(kPauseUs);
  }
  state.problem = "a thread of it does not come to rest";
  return false;
}

bool prepare() {
  if (!await_threads()) return false;
  state.seed = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "RAND_poll"));
  if (state.seed == nullptr) {
    state.problem = "its OpenSSL cannot be seeded again";
    return false;
  }
  return note_descriptors() && copy_all_memory();
}

// ---- in a fork

// A number the template had open leads to something of the fork's own.
bool replace(const Own& own) {
  const int fd = own.polls ? epoll_create1(EPOLL_CLOEXEC) : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0 || dup3(fd, own.number, O_CLOEXEC) < 0) return false;
  close(fd);
  return true;
}

// What libuv made anew when it noticed the fork stays as it is. All else is replaced before libuv closes
// what it knows and opens others.
bool renew() {
  begin_fork();
  for (std::size_t i = 0; i < state.own_count; ++i) {
    const Own& own = state.own[i];
    struct stat info{};
    if (fstat(own.number, &info) != 0 || info.st_dev != own.device || info.st_ino != own.inode) continue;
    if (!replace(own)) return false;
  }
  return uv_loop_fork(state.loop) == 0 && state.seed() == 1;
}

// Where the kernel reads the command line of this process.
bool arguments_area(char** area, std::size_t* room) {
  char text[1024];
  if (read_text("/proc/self/stat", text, sizeof(text)) == 0) return false;
  const char* at = std::strrchr(text, ')');
  constexpr int kFirst = 48;  // fields are counted from 1; the name is the second
  for (int field = 2; at != nullptr && field < kFirst; ++field) at = std::strchr(at + 1, ' ');
  unsigned long first = 0;
  unsigned long last = 0;
  if (at == nullptr || std::sscanf(at, " %lu %lu", &first, &last) != 2 || last <= first) return false;
  *area = reinterpret_cast<char*>(first);
  *room = last - first;
  return true;
}

// ---- what the JavaScript half calls

napi_value number(napi_env env, std::int32_t value) {
  napi_value made = nullptr;
  napi_create_int32(env, value, &made);
  return made;
}

napi_value fail(napi_env env, const char* why) {
  napi_throw_error(env, nullptr, why);
  return nullptr;
}

// The arguments of a call, all of them numbers. False when there are fewer.
bool numbers(napi_env env, napi_callback_info info, std::int32_t* into, std::size_t count) {
  constexpr std::size_t kMost = 3;
  napi_value values[kMost] = {};
  std::size_t got = kMost;
  if (napi_get_cb_info(env, info, &got, values, nullptr, nullptr) != 0 || got < count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (napi_get_value_int32(env, values[i], &into[i]) != 0) return false;
  }
  return true;
}

napi_value texts(napi_env env, char* const* strings) {
  napi_value list = nullptr;
  napi_create_array(env, &list);
  for (std::uint32_t i = 0; strings[i] != nullptr; ++i) {
    napi_value text = nullptr;
    napi_create_string_utf8(env, strings[i], std::strlen(strings[i]), &text);
    napi_set_element(env, list, i, text);
  }
  return list;
}

// pipe(): [end to read, end to write]
napi_value make_pipe(napi_env env, napi_callback_info) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(env, "no descriptor is left");
  napi_value list = nullptr;
  napi_create_array(env, &list);
  for (std::uint32_t i = 0; i < 2; ++i) napi_set_element(env, list, i, number(env, ends[i]));
  return list;
}

// tryFork(fd): a fork that stays where the template is and keeps that descriptor. Its process number; in
// the fork 0.
napi_value try_fork(napi_env env, napi_callback_info info) {
  std::int32_t kept = -1;
  if (!numbers(env, info, &kept, 1)) return fail(env, "tryFork(fd)");
  if (!prepare()) return fail(env, state.problem);
  for (std::size_t i = 0; i < state.own_count; ++i) {
    if (state.own[i].number == kept) state.own[i] = state.own[--state.own_count];
  }
  const pid_t child = fork();
  if (child < 0) return fail(env, "it cannot be forked here");
  if (child == 0 && !renew()) _exit(1);
  return number(env, child);
}

// ended(process, milliseconds): its wait status, or -1 when it did not end in time and was killed.
napi_value ended(napi_env env, napi_callback_info info) {
  std::int32_t given[2];
  if (!numbers(env, info, given, 2)) return fail(env, "ended(process, milliseconds)");
  int status = 0;
  constexpr useconds_t kPauseUs = 1000;
  for (std::int32_t left = given[1]; left > 0; --left) {
    if (waitpid(given[0], &status, WNOHANG) == given[0]) return number(env, status);
    usleep(kPauseUs);
  }
  kill(given[0], SIGKILL);
  waitpid(given[0], &status, 0);
  return number(env, -1);
}

// serve(control): returns in every interpreter that is forked.
napi_value serve(napi_env env, napi_callback_info info) {
  std::int32_t control = -1;
  if (!numbers(env, info, &control, 1)) return fail(env, "serve(control)");
  if (!prepare()) return fail(env, state.problem);
  serve_forks(control, Keeps::kOwn);
  touch(has_time() ? Pace::kUnhurried : Pace::kHurried);
  if (!renew()) _exit(1);
  return nullptr;
}

// learn(): 1 in a copy, which is to run a program that does nothing; here 0, when that has ended.
napi_value learn(napi_env env, napi_callback_info) {
  if (!prepare()) return fail(env, state.problem);
  const bool copy = learn_touched();
  if (copy && !renew()) _exit(1);
  return number(env, copy ? 1 : 0);
}

// isAsked(): whether the command is there already, as 0 or 1.
napi_value is_asked(napi_env env, napi_callback_info) { return number(env, has_time() ? 0 : 1); }

// take(): waits for the command. { folder, arguments, environment }
napi_value take(napi_env env, napi_callback_info) {
  await_command();
  const PreparedCommand& command = taken_command();
  napi_value made = nullptr;
  napi_value folder = nullptr;
  napi_create_object(env, &made);
  napi_create_string_utf8(env, command.folder, std::strlen(command.folder), &folder);
  napi_set_named_property(env, made, "folder", folder);
  napi_set_named_property(env, made, "arguments", texts(env, command.argv));
  napi_set_named_property(env, made, "environment", texts(env, command.environment));
  return made;
}

// execute(): the command runs in the ordinary way instead. Does not return.
napi_value execute(napi_env, napi_callback_info) { execute_taken_command(); }

// become(): this process is the program from here on. Its process number.
napi_value become(napi_env env, napi_callback_info) {
  char* area = nullptr;
  std::size_t room = 0;
  if (!arguments_area(&area, &room)) _exit(1);
  become_program(area, room);
  environ = taken_command().environment;
  return number(env, getpid());
}

// endWith(code): the program has ended so, but for what others still have to clean up.
napi_value end_with(napi_env env, napi_callback_info info) {
  std::int32_t code = 0;
  if (numbers(env, info, &code, 1)) state.code = code & 0xFF;
  return nullptr;
}

[[noreturn]] void end(int code) {
  std::fflush(nullptr);
  tell_touched();
  _exit(code);
}

// The first to be registered is the last to be called.
void end_after_all_others(void*) {
  if (in_fork() && state.code >= 0) end(state.code);
}

}  // namespace
}  // namespace berth::local

extern "C" {

// The end of a fork is that of its process: to take apart what it shares with the template only copies it.
BERTH_EXPORT void exit(int code) noexcept {
  using namespace berth::local;
  if (!in_fork()) reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit"))(code);
  end(code);
}

BERTH_EXPORT napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  using namespace berth::local;
  struct Function {
    const char* name;
    napi_callback call;
  };
  constexpr Function kFunctions[] = {{"pipe", make_pipe}, {"tryFork", try_fork}, {"ended", ended},
                                     {"serve", serve},    {"isAsked", is_asked}, {"take", take},
                                     {"execute", execute}, {"become", become},
                                     {"learn", learn},    {"endWith", end_with}};
  if (napi_get_uv_event_loop(env, &state.loop) != 0) return nullptr;
  if (napi_add_env_cleanup_hook(env, end_after_all_others, nullptr) != 0) return nullptr;
  for (const Function& function : kFunctions) {
    napi_value made = nullptr;
    napi_create_function(env, function.name, std::strlen(function.name), function.call, nullptr, &made);
    napi_set_named_property(env, exports, function.name, made);
  }
  return exports;
}
}
