// A provider on this machine as the tests of the local provider use it: a state folder of its own, the
// host's side of a command in the hands of the test, and nothing left behind.
#ifndef BERTH_TESTS_LOCAL_MACHINE_H_
#define BERTH_TESTS_LOCAL_MACHINE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocations.h"
#include "peer.h"

namespace berth::local {

constexpr std::uint64_t kMebibyte = 1u << 20;

// A reader, a writer and a canceller, each as obstinate as the test wants.
class TestPeer final : public Peer {
 public:
  TestPeer();
  ~TestPeer() override;

  berth_flow output(Stream stream, std::string_view bytes) override;
  berth_input_status input(std::span<char> buffer, std::size_t* got) override;
  bool resumed() override { return false; }
  bool cancelled() const override { return cancelled_; }
  int cancel_fd() const override { return cancel_; }
  int ready_fd() const override { return ready_; }

  // Any thread.
  void cancel();
  void resume();

  // Set before the command starts.
  std::string to_read;           // standard input, or a file's contents
  std::uint64_t cap_bytes = 0;   // of each stream; 0: none
  bool pause_at_first = false;   // until resume()

  std::string out;
  std::string err;
  std::string file;
  std::atomic<std::uint64_t> taken_bytes{0};

 private:
  int cancel_;
  int ready_;
  std::atomic<bool> cancelled_{false};
  std::size_t read_at_ = 0;
};

struct Ran {
  RunResult result;
  std::string out;
  std::string err;
};

// Owns a temporary state folder and everything made in it.
class Machine {
 public:
  explicit Machine(Config config = default_config());
  ~Machine();

  Allocations& allocations() { return *allocations_; }
  const std::string& state_dir() const { return state_dir_; }

  // A name no other test and no earlier run has used.
  static std::string fresh_name(std::string_view stem = "t");

  // Destroyed with the machine.
  std::shared_ptr<Sandbox> sandbox(const CreateSpec& spec = {});

  // Shuts the provider down in order, as it is at the end anyway.
  void close() { allocations_.reset(); }

  // A second provider over the same state, as a fresh process would have it.
  std::unique_ptr<Allocations> another() const;

 private:
  Config config_;
  std::string state_dir_;
  std::unique_ptr<Allocations> allocations_;
  std::vector<std::string> names_;
};

Ran run(Sandbox& sandbox, std::vector<std::string> argv, Command command = {});
Ran shell(Sandbox& sandbox, const std::string& script, Command command = {});
Ran python(Sandbox& sandbox, const std::string& source, Command command = {});

// The Failure `action` throws, or nothing.
template <typename Action>
std::optional<Failure> failure_of(Action action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure;
  }
  return std::nullopt;
}

// Asks again until it holds or a minute is over.
bool eventually(const std::function<bool()>& holds);

// How many of the listed a host has named; the others are made ahead.
std::size_t count_named(const ListPage& page);

}  // namespace berth::local

#endif  // BERTH_TESTS_LOCAL_MACHINE_H_
