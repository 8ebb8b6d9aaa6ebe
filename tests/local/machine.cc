#include "machine.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace berth::local {
namespace {

void raise(int fd) {
  const std::uint64_t one = 1;
  if (write(fd, &one, sizeof(one)) != sizeof(one)) std::abort();
}

// A test that leaves it open runs without anything made ahead, or as BERTH_LOCAL_STARTUP says: a whole
// suite is run on another path by that.
Config with_startup(Config config) {
  if (config.startup != StartupChoice::kAutomatic) return config;
  // Each machine has templates of its own, and most programs of the tests are Python's.
  config.templates[index_of(Interpreter::kNode)] = false;
  const char* const wanted = std::getenv("BERTH_LOCAL_STARTUP");
  config.startup = wanted != nullptr && std::strcmp(wanted, "template") == 0 ? StartupChoice::kTemplate
                                                                             : StartupChoice::kCold;
  return config;
}

std::string temporary_folder() {
  char path[] = "/tmp/berth-local-test-XXXXXX";
  if (mkdtemp(path) == nullptr) throw std::runtime_error("cannot make a folder in /tmp");
  return path;
}

}  // namespace

TestPeer::TestPeer()
    : cancel_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

TestPeer::~TestPeer() {
  close(cancel_);
  close(ready_);
}

berth_flow TestPeer::output(Stream stream, std::string_view bytes) {
  if (cancelled_) return BERTH_OUTPUT_CANCELLED;
  std::string& into = stream == Stream::kStdout ? out : stream == Stream::kStderr ? err : file;
  const std::size_t room = cap_bytes == 0 ? bytes.size() : cap_bytes - into.size();
  into.append(bytes.substr(0, room));
  taken_bytes += bytes.size();
  if (cap_bytes != 0 && into.size() >= cap_bytes) return BERTH_OUTPUT_LIMIT;
  if (std::exchange(pause_at_first, false)) return BERTH_OUTPUT_PAUSE;
  return BERTH_OUTPUT_ACCEPTED;
}

berth_input_status TestPeer::input(std::span<char> buffer, std::size_t* got) {
  *got = std::min(buffer.size(), to_read.size() - read_at_);
  if (*got == 0) return BERTH_INPUT_END;
  std::memcpy(buffer.data(), to_read.data() + read_at_, *got);
  read_at_ += *got;
  return BERTH_INPUT_DATA;
}

void TestPeer::cancel() {
  cancelled_ = true;
  raise(cancel_);
}

void TestPeer::resume() { raise(ready_); }

Machine::Machine(Config config)
    : config_(with_startup(std::move(config))),
      state_dir_(temporary_folder()),
      allocations_(std::make_unique<Allocations>(config_, state_dir_, "owner")) {
  if (config_.startup == StartupChoice::kCold) return;
  constexpr std::chrono::minutes kPatience{2};
  if (!allocations_->pool().await_full(kPatience)) throw std::runtime_error("nothing was made ahead");
}

Machine::~Machine() {
  for (const std::string& name : names_) {
    if (!allocations_) break;
    const auto failure =
        failure_of([&] { allocations_->destroy(name, std::chrono::seconds(20)); });
    if (failure) std::fprintf(stderr, "cleaning up %s: %s\n", name.c_str(), failure->what());
  }
  allocations_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(state_dir_, ignored);
}

std::string Machine::fresh_name(std::string_view stem) {
  return std::string(stem) + "-" + random_hex(6);
}

std::shared_ptr<Sandbox> Machine::sandbox(const CreateSpec& spec) {
  names_.push_back(fresh_name());
  return allocations_->create(names_.back(), spec);
}

std::unique_ptr<Allocations> Machine::another() const {
  // It makes nothing ahead, so that what is there is the first one's.
  Config config = config_;
  config.startup = StartupChoice::kCold;
  return std::make_unique<Allocations>(config, state_dir_, "owner");
}

Ran run(Sandbox& sandbox, std::vector<std::string> argv, Command command) {
  TestPeer peer;
  command.argv.assign(argv.begin(), argv.end());
  if (command.timeout.count() == 0) command.timeout = std::chrono::seconds(60);
  Ran ran;
  ran.result = sandbox.run(peer, command);
  ran.out = peer.out;
  ran.err = peer.err;
  return ran;
}

Ran shell(Sandbox& sandbox, const std::string& script, Command command) {
  return run(sandbox, {"/bin/sh", "-c", script}, std::move(command));
}

Ran python(Sandbox& sandbox, const std::string& source, Command command) {
  return run(sandbox, {"/usr/bin/python3", "-c", source}, std::move(command));
}

bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::size_t count_named(const ListPage& page) {
  return static_cast<std::size_t>(std::count_if(page.items.begin(), page.items.end(),
                                                [](const Listed& item) { return !item.name.empty(); }));
}

}  // namespace berth::local
