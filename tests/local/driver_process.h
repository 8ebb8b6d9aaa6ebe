// The driver program as a child of the test: a provider in a process of its own that can be killed.
#ifndef BERTH_TESTS_LOCAL_DRIVER_PROCESS_H_
#define BERTH_TESTS_LOCAL_DRIVER_PROCESS_H_

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "fd.h"

namespace berth::local {

// BERTH_LOCAL_DRIVER is its path. What it says arrives through a pipe.
class Driver {
 public:
  Driver(const std::string& state_dir, std::vector<std::string> words) {
    Pipe pipe = make_pipe();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe.write.get(), 1);
    words.insert(words.begin(), {BERTH_LOCAL_DRIVER, state_dir});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    from_ = std::move(pipe.read);
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver() {
    if (pid_ > 0) kill_now();
  }

  std::string line() {
    std::string text;
    char c = 0;
    while (read(from_.get(), &c, 1) == 1 && c != '\n') text.push_back(c);
    return text;
  }
  std::string all() {
    std::string text;
    for (std::string one = line(); !one.empty(); one = line()) text += one + "\n";
    return text;
  }
  void kill_now() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  Fd from_;
};

}  // namespace berth::local

#endif  // BERTH_TESTS_LOCAL_DRIVER_PROCESS_H_
