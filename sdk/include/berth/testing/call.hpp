// SPDX-License-Identifier: Apache-2.0
//
// One operation as the fake host keeps it: its arguments, what it may still do, what came back.
#ifndef BERTH_TESTING_CALL_HPP
#define BERTH_TESTING_CALL_HPP

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "berth/abi.h"
#include "berth/testing/answers.hpp"

namespace berth::testing {

// What a test asks for; the defaults ask for the least.
struct CreateRequest {
  std::string owner_tag = "owner";
  std::chrono::nanoseconds lifetime = std::chrono::minutes(10);
  std::vector<std::string> languages = {"python"};
  std::string image = {};
  Network network = Network::kNone;
  Scope env = {};
};

struct RunRequest {
  std::vector<std::string> argv = {"true"};
  std::string cwd = {};
  Scope env = {};
  std::string input = {};  // standard input; none when empty
  std::chrono::nanoseconds timeout{0};
};

// How a host behaves while an operation runs. Zero switches a behaviour off.
struct Behaviour {
  std::uint64_t pause_every_bytes = 0;   // the reader falls behind after so many bytes
  bool resume_by_itself = true;          // and catches up as soon as someone waits for it
  std::uint64_t stdout_limit_bytes = 0;  // the cap of the stream
  std::uint64_t stderr_limit_bytes = 0;
  std::uint64_t input_chunk_bytes = 0;  // input comes in pieces of so many bytes
  bool input_arrives_late = false;      // the first attempt of every piece finds nothing
};

namespace detail {

// A descriptor that can be raised and stays readable until it is lowered.
class Signal {
 public:
  Signal() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  void raise() {
    const std::uint64_t one = 1;
    static_cast<void>(::write(fd_, &one, sizeof one) == sizeof one);
  }
  void lower() {
    std::uint64_t value = 0;
    static_cast<void>(::read(fd_, &value, sizeof value) == sizeof value);
  }

 private:
  int fd_;
};

// A descriptor that becomes readable when raised, or by itself at a time.
class Alarm {
 public:
  Alarm() : fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  void raise() { set(1, 0); }
  void raise_at(std::uint64_t monotonic_ns) { set(monotonic_ns, TFD_TIMER_ABSTIME); }

 private:
  void set(std::uint64_t at_ns, int flags) {
    itimerspec when{};
    when.it_value.tv_sec = static_cast<std::time_t>(at_ns / 1'000'000'000);
    when.it_value.tv_nsec = static_cast<long>(at_ns % 1'000'000'000);
    ::timerfd_settime(fd_, flags, &when, nullptr);
  }

  int fd_;
};

// Text whose address stays the same as long as the operation lasts.
class Texts {
 public:
  berth_str keep(std::string_view text) {
    if (text.empty()) return {};
    const std::string& kept = texts_.emplace_back(text);
    return {kept.data(), kept.size()};
  }

 private:
  std::deque<std::string> texts_;
};

inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

struct Call {
  void keep_pairs(const Scope& from) {
    for (const auto& [key, value] : from) pairs.push_back({texts.keep(key), texts.keep(value)});
  }

  Slot slot = Slot::kOpen;
  Behaviour behaviour;
  Texts texts;
  std::vector<berth_str> strings;
  std::vector<berth_str> more_strings;
  std::vector<berth_pair> pairs;
  berth_limits limits{};
  berth_open_spec open{};
  berth_create_spec create{};
  berth_command command{};
  berth_put_file_spec put_file{};
  berth_get_file_spec get_file{};

  std::string input;
  std::size_t input_at = 0;
  bool input_held_back = false;
  bool paused = false;
  std::uint64_t since_pause_bytes = 0;
  std::map<berth_stream, std::uint64_t> received_bytes;
  bool cancelled = false;
  std::uint64_t deadline_ns = 0;
  Alarm cancel_signal;
  Signal ready_signal;

  bool completed = false;
  Answer answer;
};

}  // namespace detail
}  // namespace berth::testing

#endif  // BERTH_TESTING_CALL_HPP
