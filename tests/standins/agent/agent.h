// The parts of the agent: processes, files, and the way back to the stand-in.
#ifndef BERTH_TESTS_STANDINS_AGENT_AGENT_H_
#define BERTH_TESTS_STANDINS_AGENT_AGENT_H_

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/standins/agent/wire.h"

namespace berth::standins::agent {

// Sends one frame; waits until the stand-in has room for it.
void send(wire::Kind kind, std::uint32_t id, std::string_view payload);
void send_done(std::uint32_t id, int error);

class Files {
 public:
  // True when `kind` is of files.
  bool take(wire::Kind kind, std::uint32_t id, std::string_view payload);
  // Bytes for a file being written; false when no file of this id is.
  bool input(std::uint32_t id, std::string_view bytes);

 private:
  struct Writing {
    int fd = -1;
    std::string temporary;
    std::string path;
    std::uint32_t mode = 0644;
    int error = 0;
  };
  void begin_write(std::uint32_t id, std::uint32_t mode, std::string_view path);
  std::map<std::uint32_t, Writing> writing_;
};

class Processes {
 public:
  void start(std::uint32_t id, std::string_view payload);
  void exec(std::uint32_t id, std::string_view payload);
  void input(std::uint32_t id, std::string_view bytes);
  void signal(std::uint32_t id, int number);
  void end_tree(std::uint32_t id);
  void end_all(std::uint32_t id);

  void watch(std::vector<pollfd>* watched);
  // What poll said of one descriptor of watch().
  void ready(int fd, short events);
  // Children have ended.
  void reap();

 private:
  struct Process {
    pid_t pid = -1;       // none: a command in a shell
    int input = -1;
    int output = -1;
    int errors = -1;
    int code = -1;        // where a shell writes how its command ended
    std::string to_write;
    std::string code_text;
    bool input_ends = false;
    bool ended = false;
    int status = 0;
    std::string stem;     // of the pipes of a command in a shell
  };
  struct Place {
    std::uint32_t id = 0;
    int Process::* which = nullptr;
  };

  void write_input(Process* process);
  // False at the end of the stream.
  bool read_output(std::uint32_t id, int fd, std::uint8_t stream);
  void drain(std::uint32_t id, Process* process);
  void end(std::uint32_t id, Process* process);
  void close_one(int* fd);
  void forget_if_over(std::uint32_t id);

  std::map<std::uint32_t, Process> processes_;
  std::map<pid_t, std::uint32_t> by_pid_;
  std::map<int, Place> places_;
};

}  // namespace berth::standins::agent

#endif  // BERTH_TESTS_STANDINS_AGENT_AGENT_H_
