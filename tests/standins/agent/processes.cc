#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "tests/standins/agent/agent.h"

namespace berth::standins::agent {
namespace {

using wire::Kind;

constexpr char kPipes[] = "/tmp/.pipes";

struct Program {
  std::uint8_t flags = 0;
  std::string cwd;
  std::vector<std::string> argv;
  std::vector<std::string> environment;
};

Program unpack_program(std::string_view payload) {
  wire::Unpacker unpacker(payload);
  Program program;
  program.flags = unpacker.u8();
  program.cwd = unpacker.str();
  for (auto* list : {&program.argv, &program.environment}) {
    for (std::uint32_t count = unpacker.u32(); count > 0 && unpacker.whole(); --count) {
      list->emplace_back(unpacker.str());
    }
  }
  return program;
}

[[noreturn]] void become(Program* program, int report) {
  if (!program->cwd.empty() && chdir(program->cwd.c_str()) != 0) {
    const int error = errno;
    (void)!write(report, &error, sizeof(error));
    _exit(127);
  }
  for (std::string& pair : program->environment) putenv(pair.data());
  std::vector<char*> argv;
  for (std::string& word : program->argv) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(argv[0], argv.data());
  const int error = errno;
  (void)!write(report, &error, sizeof(error));
  _exit(127);
}

// What a supervised process started becomes this process' child when its parent ends, so that all of it
// can be found below one. It ends with the last of them, as the first did.
[[noreturn]] void supervise(pid_t first) {
  int status = 0;
  int kept = 0;
  close_range(0, ~0u, 0);
  while (true) {
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended == first) kept = status;
    if (ended < 0 && errno == ECHILD) break;
  }
  _exit(WIFEXITED(kept) ? WEXITSTATUS(kept) : 128 + WTERMSIG(kept));
}

// Of all processes of the sandbox, parent by child.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> found;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder)) {
    const int pid = atoi(entry->d_name);
    if (pid <= 0) continue;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    char text[512];
    const ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (size <= 0) continue;
    text[size] = '\0';
    // The name before it may hold anything, parentheses too.
    const std::string_view line(text, static_cast<std::size_t>(size));
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string_view::npos || name_end + 4 >= line.size()) continue;
    found[pid] = atoi(text + name_end + 4);
  }
  closedir(folder);
  return found;
}

std::set<pid_t> below(pid_t top) {
  const std::map<pid_t, pid_t> all = parents();
  std::set<pid_t> found;
  for (const auto& [pid, parent] : all) {
    for (pid_t at = parent; at > 1;) {
      if (at == top) {
        found.insert(pid);
        break;
      }
      const auto up = all.find(at);
      at = up == all.end() ? 0 : up->second;
    }
  }
  return found;
}

}  // namespace

void Processes::start(std::uint32_t id, std::string_view payload) {
  Program program = unpack_program(payload);
  if (program.argv.empty()) return send_done(id, EINVAL);
  const bool merged = (program.flags & wire::kMerged) != 0;
  int in[2] = {-1, -1};
  int out[2] = {-1, -1};
  int err[2] = {-1, -1};
  int report[2] = {-1, -1};
  const bool with_input = (program.flags & wire::kWithInput) != 0;
  if ((with_input && pipe2(in, O_CLOEXEC) != 0) || pipe2(out, O_CLOEXEC) != 0 ||
      (!merged && pipe2(err, O_CLOEXEC) != 0) || pipe2(report, O_CLOEXEC) != 0) {
    const int error = errno;
    for (int* pair : {in, out, err, report}) {
      close_one(&pair[0]);
      close_one(&pair[1]);
    }
    return send_done(id, error);
  }
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    if ((program.flags & wire::kSupervised) != 0) {
      prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
      const pid_t first = fork();
      if (first != 0) supervise(first);
      setsid();
    }
    const int empty = with_input ? in[0] : open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(empty, 0);
    dup2(out[1], 1);
    dup2(merged ? out[1] : err[1], 2);
    become(&program, report[1]);
  }
  const int fork_error = pid < 0 ? errno : 0;
  close_one(&in[0]);
  close_one(&out[1]);
  close_one(&err[1]);
  close_one(&report[1]);
  int error = fork_error;
  // Ends at the exec: a start is a matter of microseconds, and nothing else is kept waiting long.
  if (pid > 0 && read(report[0], &error, sizeof(error)) != static_cast<ssize_t>(sizeof(error))) error = 0;
  close_one(&report[0]);
  if (error != 0) {
    close_one(&in[1]);
    close_one(&out[0]);
    close_one(&err[0]);
    return send_done(id, error);
  }
  Process& process = processes_[id];
  process.pid = pid;
  process.input = in[1];
  process.output = out[0];
  process.errors = err[0];
  by_pid_[pid] = id;
  for (int Process::* which : {&Process::input, &Process::output, &Process::errors}) {
    const int fd = process.*which;
    if (fd < 0) continue;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    places_[fd] = Place{id, which};
  }
  send(Kind::kStarted, id, wire::Packer().u32(static_cast<std::uint32_t>(pid)).text());
}

void Processes::exec(std::uint32_t id, std::string_view payload) {
  wire::Unpacker unpacker(payload);
  const auto shell = processes_.find(unpacker.u32());
  if (shell == processes_.end() || shell->second.input < 0) return send_done(id, ESRCH);
  const std::string command(unpacker.str());
  mkdir(kPipes, 0700);
  Process process;
  process.stem = std::string(kPipes) + "/" + std::to_string(id);
  struct Pipe {
    const char* name;
    int Process::* which;
    int flags;
  };
  // Whoever reads is there before the shell opens the other end, so neither waits for the other. Input is
  // held open for writing and never ends by itself.
  constexpr Pipe kEach[] = {{".in", &Process::input, O_RDWR},
                            {".out", &Process::output, O_RDONLY},
                            {".err", &Process::errors, O_RDONLY},
                            {".code", &Process::code, O_RDONLY}};
  for (const Pipe& pipe : kEach) {
    const std::string path = process.stem + pipe.name;
    int fd = -1;
    if (mkfifo(path.c_str(), 0600) == 0) fd = open(path.c_str(), pipe.flags | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return send_done(id, errno);
    process.*pipe.which = fd;
    places_[fd] = Place{id, pipe.which};
  }
  const std::string& stem = process.stem;
  shell->second.to_write += "{\n" + command + "\n} <" + stem + ".in >" + stem + ".out 2>" + stem +
                            ".err\necho $? >" + stem + ".code\n";
  processes_[id] = std::move(process);
  write_input(&shell->second);
  send(Kind::kStarted, id, wire::Packer().u32(0).text());
}

void Processes::input(std::uint32_t id, std::string_view bytes) {
  const auto found = processes_.find(id);
  if (found == processes_.end()) return;
  if (bytes.empty()) found->second.input_ends = true;
  found->second.to_write += bytes;
  write_input(&found->second);
}

void Processes::write_input(Process* process) {
  std::string& text = process->to_write;
  while (process->input >= 0 && !text.empty()) {
    const ssize_t count = write(process->input, text.data(), text.size());
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) {
      text.clear();
      process->input_ends = true;
      break;
    }
    text.erase(0, static_cast<std::size_t>(count));
  }
  if (process->input_ends) close_one(&process->input);
}

void Processes::signal(std::uint32_t id, int number) {
  const auto found = processes_.find(id);
  if (found != processes_.end() && found->second.pid > 0 && !found->second.ended) {
    kill(-found->second.pid, number);
  }
}

void Processes::end_tree(std::uint32_t id) {
  const auto found = processes_.find(id);
  if (found == processes_.end()) return send_done(id, ESRCH);
  // Until a look finds nothing alive: what forks while it is being killed is found by the next one.
  for (int look = 0; look < 1000; ++look) {
    const std::set<pid_t> all = below(found->second.pid);
    if (all.empty()) break;
    for (const pid_t one : all) kill(one, SIGKILL);
    usleep(1000);
  }
  send_done(id, 0);
}

void Processes::end_all(std::uint32_t id) {
  kill(-1, SIGKILL);
  send_done(id, 0);
}

void Processes::watch(std::vector<pollfd>* watched) {
  for (const auto& [fd, place] : places_) {
    const bool writes = place.which == &Process::input;
    if (writes && processes_[place.id].to_write.empty()) continue;
    watched->push_back({fd, static_cast<short>(writes ? POLLOUT : POLLIN), 0});
  }
}

bool Processes::read_output(std::uint32_t id, int fd, std::uint8_t stream) {
  char piece[wire::kPieceBytes];
  const ssize_t count = read(fd, piece, sizeof(piece));
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  wire::Packer output;
  output.u8(stream).bytes(std::string_view(piece, static_cast<std::size_t>(count)));
  send(Kind::kOutput, id, output.text());
  return true;
}

void Processes::ready(int fd, short) {
  const auto place = places_.find(fd);
  if (place == places_.end()) return;
  const std::uint32_t id = place->second.id;
  const auto found = processes_.find(id);
  if (found == processes_.end()) return;
  Process& process = found->second;
  int Process::* which = place->second.which;
  if (which == &Process::input) return write_input(&process);
  if (which == &Process::code) {
    char piece[16];
    const ssize_t count = read(fd, piece, sizeof(piece));
    if (count > 0) process.code_text.append(piece, static_cast<std::size_t>(count));
    if (count != 0) return;
    process.status = atoi(process.code_text.c_str()) << 8;
    close_one(&process.code);
    end(id, &process);
    return forget_if_over(id);
  }
  if (!read_output(id, fd, which == &Process::output ? 1 : 2)) {
    close_one(&(process.*which));
    forget_if_over(id);
  }
}

void Processes::drain(std::uint32_t id, Process* process) {
  // What was written before the end fits a pipe; what others write after it comes when it comes.
  constexpr int kPipePieces = 65536 / static_cast<int>(wire::kPieceBytes) + 1;
  for (int Process::* which : {&Process::output, &Process::errors}) {
    for (int pieces = 0; process->*which >= 0 && pieces < kPipePieces; ++pieces) {
      pollfd one{process->*which, POLLIN, 0};
      if (poll(&one, 1, 0) <= 0) break;
      if (!read_output(id, process->*which, which == &Process::output ? 1 : 2)) close_one(&(process->*which));
    }
  }
}

void Processes::end(std::uint32_t id, Process* process) {
  process->ended = true;
  drain(id, process);
  close_one(&process->input);
  for (const char* name : {".in", ".out", ".err", ".code"}) {
    if (!process->stem.empty()) unlink((process->stem + name).c_str());
  }
  send(Kind::kEnded, id, wire::Packer().u32(static_cast<std::uint32_t>(process->status)).text());
}

void Processes::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    const auto named = by_pid_.find(pid);
    if (named == by_pid_.end()) continue;
    const std::uint32_t id = named->second;
    by_pid_.erase(named);
    Process& process = processes_[id];
    process.status = status;
    end(id, &process);
    forget_if_over(id);
  }
}

void Processes::close_one(int* fd) {
  if (*fd < 0) return;
  places_.erase(*fd);
  close(*fd);
  *fd = -1;
}

void Processes::forget_if_over(std::uint32_t id) {
  const auto found = processes_.find(id);
  if (found == processes_.end()) return;
  const Process& process = found->second;
  if (process.ended && process.output < 0 && process.errors < 0 && process.code < 0) processes_.erase(found);
}

}  // namespace berth::standins::agent
