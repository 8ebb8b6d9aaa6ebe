// A small provider on berth::Provider for the tests of the SDK: sandboxes in a map, a `run` that
// echoes.
#ifndef BERTH_TESTS_UNIT_SDK_SAMPLE_PROVIDER_H_
#define BERTH_TESTS_UNIT_SDK_SAMPLE_PROVIDER_H_

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

#include "berth/provider.hpp"

namespace berth::tests {

// How many providers exist now, and ever.
inline std::atomic<int> alive{0};
inline std::atomic<int> built{0};

class Sample : public Provider {
 public:
  Sample() {
    ++alive;
    ++built;
  }
  ~Sample() override { --alive; }

  void open(Operation& operation, const OpenSpec& spec) override {
    operation.stage("reading the configuration");
    if (spec.config_json.find("refuse") != std::string_view::npos)
      throw Failure::rejected(Code::kUnauthenticated, "the key is not accepted");
  }

  ProbeReport probe(Operation&) override {
    return {true, "sample 1", {{"process", false, "no pty here"}}, {{"map", true, "std::map", ""}}};
  }

  Scope scope(Operation&) override { return {{"account", "a1"}, {"endpoint", "here"}}; }

  Created create(Operation& operation, std::string_view name, const CreateSpec& spec) override {
    if (spec.image == "throw") throw std::runtime_error("the map burst");
    if (spec.image == "throw a number") throw 7;
    if (spec.image == "dirty") throw Failure::failed_dirty(Code::kInternal, "half of it is there");
    if (spec.image == "busy")
      throw Failure::rejected(Code::kRateLimited, "slow down").retry_after(std::chrono::seconds(2));
    const std::lock_guard lock(mutex_);
    if (fenced_.contains(std::string(name))) throw Failure::rejected(Code::kConflict, "fenced");
    sandboxes_.emplace(name, std::string(spec.owner_tag));
    return {std::string(name), "ref-" + std::string(name), scope(operation)};
  }

  Found lookup(Operation& operation, std::string_view name) override {
    const std::lock_guard lock(mutex_);
    Found found;
    found.presence = Presence::kAbsentNow;
    if (!sandboxes_.contains(std::string(name))) return found;
    return {Presence::kPresent,         SandboxState::kReady, std::string(name),
            "ref-" + std::string(name), scope(operation),     0};
  }

  Found fence(Operation& operation, std::string_view name) override {
    Found found = lookup(operation, name);
    if (found.presence == Presence::kPresent) return found;
    const std::lock_guard lock(mutex_);
    fenced_.insert(std::string(name));
    found.presence = Presence::kAbsentFenced;
    return found;
  }

  RunResult run(Operation& operation, std::string_view, const Command& command) override {
    RunResult result;
    result.cause = Cause::kExited;
    result.exit_code = 3;
    bool sending = true;
    const auto write = [&](Stream stream, std::string_view bytes, std::uint64_t& produced) {
      produced += bytes.size();
      if (!sending) return;
      const Flow flow = operation.output(stream, bytes);
      if (flow == Flow::kCancelled) result.cause = Cause::kCancelled;
      sending = flow == Flow::kAccepted;
    };
    for (const std::string_view argument : command.argv)
      write(Stream::kStdout, argument, result.stdout_bytes);
    if (command.stdin_source == StdinSource::kInput) {
      char buffer[64];
      for (std::size_t got; (got = operation.input(buffer)) != 0;)
        write(Stream::kStdout, {buffer, got}, result.stdout_bytes);
    }
    if (command.argv[0] == "loop") {
      while (result.cause != Cause::kCancelled)
        write(Stream::kStdout, "again\n", result.stdout_bytes);
    }
    write(Stream::kStderr, "note\n", result.stderr_bytes);
    result.usage = Usage{};
    result.usage->cpu_ns = 42;
    return result;
  }

  void put_file(Operation& operation, std::string_view, const PutFile& spec) override {
    std::string bytes;
    char buffer[128];
    for (std::size_t got; (got = operation.input(buffer)) != 0;) bytes.append(buffer, got);
    const std::lock_guard lock(mutex_);
    files_[std::string(spec.path)] = {bytes, spec.mode};
  }

  GotFile get_file(Operation& operation, std::string_view, const GetFile& spec) override {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(std::string(spec.path));
    if (found == files_.end()) throw Failure::rejected(Code::kNotFound, "no such file");
    const auto& [bytes, mode] = found->second;
    if (operation.output(Stream::kFile, bytes) != Flow::kAccepted)
      throw Operation::cancelled_failure();
    return {mode, bytes.size()};
  }

  Destroyed destroy(Operation&, std::string_view name, std::string_view) override {
    const std::lock_guard lock(mutex_);
    sandboxes_.erase(std::string(name));
    return {};
  }

  ListPage list_owned(Operation&, std::string_view tag, std::string_view cursor) override {
    const std::lock_guard lock(mutex_);
    ListPage page;
    for (auto at = sandboxes_.upper_bound(std::string(cursor)); at != sandboxes_.end(); ++at) {
      if (page.items.size() == 2) {
        page.next_cursor = page.items.back().name;
        break;
      }
      if (at->second == tag)
        page.items.push_back({at->first, "ref-" + at->first, SandboxState::kReady, 0, ""});
    }
    return page;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> sandboxes_;
  std::set<std::string> fenced_;
  std::map<std::string, std::pair<std::string, std::uint32_t>> files_;
};

}  // namespace berth::tests

#endif  // BERTH_TESTS_UNIT_SDK_SAMPLE_PROVIDER_H_
