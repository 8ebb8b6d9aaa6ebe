// attack_probes NAME...: runs the named programs, one after the other.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "probe.h"

namespace berth::attack {

void say(const char* attempt, const char* answer) {
  std::printf("%s: %s\n", attempt, answer);
  std::fflush(stdout);
}

int error_of(long result) { return result < 0 ? errno : 0; }

void say_result(const char* attempt, long result) {
  const int error = error_of(result);
  const char* const name = error == 0 ? "done" : strerrorname_np(error);
  say(attempt, name == nullptr ? "an unknown errno" : name);
}

void say_in_child(const char* attempt, int (*action)()) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(action());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return say_result(attempt, -1);
  if (WIFSIGNALED(status)) {
    char text[32];
    std::snprintf(text, sizeof(text), "SIG%s", sigabbrev_np(WTERMSIG(status)));
    return say(attempt, text);
  }
  errno = WEXITSTATUS(status);
  say_result(attempt, errno == 0 ? 0 : -1);
}

const char* given(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

const char* host_folder() { return given("HOST_FOLDER"); }

const char* host_path(const char* name) {
  static char path[512];
  std::snprintf(path, sizeof(path), "%s/%s", host_folder(), name);
  return path;
}

std::size_t read_start(const char* path, char* into, std::size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? 0 : read(fd, into, size - 1);
  if (fd >= 0) close(fd);
  if (got < 0) got = 0;
  into[got] = '\0';
  return static_cast<std::size_t>(got);
}

}  // namespace berth::attack

int main(int count, char** arguments) {
  using namespace berth::attack;
  const Program* const lists[] = {kProcessPrograms, kNamespacePrograms, kSystemCallPrograms,
                                  kFilePrograms,    kChannelPrograms,   kResourcePrograms,
                                  kNetworkPrograms};
  for (int i = 1; i < count; ++i) {
    bool known = false;
    for (const Program* list : lists) {
      for (; list->name != nullptr; ++list) {
        if (strcmp(list->name, arguments[i]) != 0) continue;
        list->run();
        known = true;
      }
    }
    if (!known) {
      std::fprintf(stderr, "there is no program '%s'\n", arguments[i]);
      return 2;
    }
  }
  return 0;
}
