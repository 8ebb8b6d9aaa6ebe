// SPDX-License-Identifier: Apache-2.0
//
// A host for unit tests of a provider, in the test's own process:
//
//   berth::testing::FakeHost host(&berth::provider_entry<MyProvider>);
//   host.open(R"({"region":"eu"})");
//   const auto made = host.create("berth-1");
//   EXPECT_EQ(made.get<berth::Created>().ref, "...");
//   EXPECT_TRUE(host.violations().empty());
//
// It drives the table the way a real host does and writes down every breach of the contract it can
// see from there, by clause. `Behaviour` makes it a slow reader, a host with caps, a caller whose
// input trickles. It is strict where a real host is lenient: it is for finding faults, not for
// surviving them.
//
// Ownership: the host owns everything it passes; it outlives the provider. Threading: the test
// calls from one thread; the provider may call back from any.
#ifndef BERTH_TESTING_FAKE_HOST_HPP
#define BERTH_TESTING_FAKE_HOST_HPP

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/abi.h"
#include "berth/testing/answers.hpp"
#include "berth/testing/call.hpp"
#include "berth/testing/lent_threads.hpp"

namespace berth::testing {

class FakeHost {
 public:
  // The longest a test waits for one answer before it fails with a sentence.
  static constexpr std::chrono::seconds kPatience{60};

  // Calls the entry. Throws std::runtime_error with the reason when the provider refuses.
  explicit FakeHost(berth_provider_entry_fn entry, std::size_t threads_max = 8)
      : threads_(threads_max) {
    fill_table();
    berth_offer offer{};
    offer.struct_size = sizeof offer;
    offer.minor_max = BERTH_ABI_MINOR;
    offer.host = &table_;
    berth_reply reply{};
    reply.struct_size = sizeof reply;
    if (entry(&offer, &reply) != 0)
      throw std::runtime_error("the provider refuses: " + detail::copy(reply.refusal));
    self_ = reply.self;
    provider_ = reply.provider;
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;
  ~FakeHost() { threads_.stop(); }

  // Behaviour of the operations that start from now on.
  void behave(const Behaviour& behaviour) { behaviour_ = behaviour; }
  // The variables secret_get knows; asking for any other is a violation.
  void set_secret(const std::string& name, const std::string& value) { secrets_[name] = value; }
  void declare_secret(const std::string& name) { declared_.insert(name); }
  void set_config(const std::string& key, const std::string& json) { config_[key] = json; }

  const berth_provider_v1& table() const { return *provider_; }
  void* self() const { return self_; }

  // ---- starting operations; the answer is fetched with wait()

  berth_op start_open(std::string_view config_json, std::string_view state_dir) {
    auto& call = begin(Slot::kOpen);
    call.open.struct_size = sizeof call.open;
    call.open.config_json = call.texts.keep(config_json);
    call.open.state_dir = call.texts.keep(state_dir);
    call.open.owner_tag = call.texts.keep("owner");
    return provider_->open(self_, last_op_, &call.open), last_op_;
  }

  berth_op start_create(std::string_view name, const CreateRequest& request = {}) {
    auto& call = begin(Slot::kCreate);
    for (const std::string& language : request.languages)
      call.strings.push_back(call.texts.keep(language));
    call.keep_pairs(request.env);
    call.limits.struct_size = sizeof call.limits;
    call.create.struct_size = sizeof call.create;
    call.create.network = static_cast<berth_network>(request.network);
    call.create.owner_tag = call.texts.keep(request.owner_tag);
    call.create.lifetime_ns = static_cast<std::uint64_t>(request.lifetime.count());
    call.create.languages = {call.strings.data(), call.strings.size()};
    call.create.image = call.texts.keep(request.image);
    call.create.limits = &call.limits;
    call.create.env = {call.pairs.data(), call.pairs.size()};
    return provider_->create(self_, last_op_, call.texts.keep(name), &call.create), last_op_;
  }

  berth_op start_run(std::string_view ref, const RunRequest& request) {
    auto& call = begin(Slot::kRun);
    for (const std::string& argument : request.argv)
      call.strings.push_back(call.texts.keep(argument));
    call.keep_pairs(request.env);
    call.input = request.input;
    call.command.struct_size = sizeof call.command;
    call.command.stdin_source = request.input.empty() ? BERTH_STDIN_EMPTY : BERTH_STDIN_INPUT;
    call.command.argv = {call.strings.data(), call.strings.size()};
    call.command.cwd = call.texts.keep(request.cwd);
    call.command.env = {call.pairs.data(), call.pairs.size()};
    call.command.timeout_ns = static_cast<std::uint64_t>(request.timeout.count());
    call.command.stdout_cap_bytes = behaviour_.stdout_limit_bytes;
    call.command.stderr_cap_bytes = behaviour_.stderr_limit_bytes;
    return provider_->run(self_, last_op_, call.texts.keep(ref), &call.command), last_op_;
  }

  berth_op start_put_file(std::string_view ref, std::string_view path, std::string_view contents,
                          std::uint32_t mode = 0) {
    auto& call = begin(Slot::kPutFile);
    call.input = contents;
    call.put_file.struct_size = sizeof call.put_file;
    call.put_file.mode = mode;
    call.put_file.path = call.texts.keep(path);
    call.put_file.size_bytes = contents.size();
    return provider_->put_file(self_, last_op_, call.texts.keep(ref), &call.put_file), last_op_;
  }

  berth_op start_get_file(std::string_view ref, std::string_view path, std::uint64_t max_bytes) {
    auto& call = begin(Slot::kGetFile);
    call.get_file.struct_size = sizeof call.get_file;
    call.get_file.path = call.texts.keep(path);
    call.get_file.max_bytes = max_bytes;
    return provider_->get_file(self_, last_op_, call.texts.keep(ref), &call.get_file), last_op_;
  }

  berth_op start_lookup(std::string_view name) {
    auto& call = begin(Slot::kLookup);
    return provider_->lookup(self_, last_op_, call.texts.keep(name)), last_op_;
  }
  berth_op start_fence(std::string_view name) {
    if (provider_->fence == nullptr)
      throw std::logic_error("this provider has no fence: its recovery is manual");
    auto& call = begin(Slot::kFence);
    return provider_->fence(self_, last_op_, call.texts.keep(name)), last_op_;
  }
  berth_op start_destroy(std::string_view name, std::string_view ref = {}) {
    auto& call = begin(Slot::kDestroy);
    return provider_->destroy(self_, last_op_, call.texts.keep(name), call.texts.keep(ref)),
           last_op_;
  }
  berth_op start_list_owned(std::string_view tag, std::string_view cursor) {
    auto& call = begin(Slot::kListOwned);
    return provider_->list_owned(self_, last_op_, call.texts.keep(tag), call.texts.keep(cursor)),
           last_op_;
  }
  berth_op start_probe() {
    return begin(Slot::kProbe), provider_->probe(self_, last_op_), last_op_;
  }
  berth_op start_scope() {
    return begin(Slot::kScope), provider_->scope(self_, last_op_), last_op_;
  }
  berth_op start_shutdown() {
    return begin(Slot::kShutdown), provider_->shutdown(self_, last_op_), last_op_;
  }

  // ---- the same, waited for

  Answer open(std::string_view config_json = "{}", std::string_view state_dir = {}) {
    return wait(start_open(config_json, state_dir));
  }
  Answer probe() { return wait(start_probe()); }
  Answer scope() { return wait(start_scope()); }
  Answer create(std::string_view name, const CreateRequest& request = {}) {
    return wait(start_create(name, request));
  }
  Answer lookup(std::string_view name) { return wait(start_lookup(name)); }
  Answer fence(std::string_view name) { return wait(start_fence(name)); }
  Answer run(std::string_view ref, const RunRequest& request) {
    return wait(start_run(ref, request));
  }
  Answer put_file(std::string_view ref, std::string_view path, std::string_view contents,
                  std::uint32_t mode = 0) {
    return wait(start_put_file(ref, path, contents, mode));
  }
  Answer get_file(std::string_view ref, std::string_view path, std::uint64_t max_bytes = 1u << 30) {
    return wait(start_get_file(ref, path, max_bytes));
  }
  Answer destroy(std::string_view name, std::string_view ref = {}) {
    return wait(start_destroy(name, ref));
  }
  Answer list_owned(std::string_view tag, std::string_view cursor = {}) {
    return wait(start_list_owned(tag, cursor));
  }
  Answer shutdown() { return wait(start_shutdown()); }

  // ---- while an operation runs

  // The answer; throws std::runtime_error after kPatience.
  Answer wait(berth_op op) {
    std::unique_lock lock(mutex_);
    const auto call = calls_.at(op);
    if (!changed_.wait_for(lock, kPatience, [&] { return call->completed; }))
      throw std::runtime_error("the operation was not completed within a minute [OP-002]");
    return call->answer;
  }
  bool completed(berth_op op) {
    const std::lock_guard lock(mutex_);
    return calls_.at(op)->completed;
  }
  // Waits until `holds(call)`; false after kPatience.
  template <class Predicate>
  bool wait_until(berth_op op, Predicate holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return holds(*calls_.at(op)); });
  }
  void cancel(berth_op op) {
    const std::lock_guard lock(mutex_);
    cancel_locked(*calls_.at(op));
  }
  // The reader catches up; for a behaviour that does not resume by itself.
  void resume(berth_op op) {
    const std::lock_guard lock(mutex_);
    resume_locked(*calls_.at(op));
  }
  // Sets the deadline of the operations that start from now on; zero: none.
  void set_deadline(std::chrono::nanoseconds from_now) { deadline_from_now_ = from_now; }

  // Every breach of the contract that was seen, each with its clause.
  std::vector<std::string> violations() {
    const std::lock_guard lock(mutex_);
    return violations_;
  }
  std::vector<std::string> log_lines() {
    const std::lock_guard lock(mutex_);
    return log_lines_;
  }

 private:
  using Call = detail::Call;

  Call& begin(Slot slot) {
    const std::lock_guard lock(mutex_);
    last_op_ = next_op_++;
    auto call = std::make_shared<Call>();
    call->slot = slot;
    call->behaviour = behaviour_;
    if (deadline_from_now_.count() != 0) {
      call->deadline_ns = detail::now_ns() + static_cast<std::uint64_t>(deadline_from_now_.count());
      call->cancel_signal.raise_at(call->deadline_ns);
    }
    calls_[last_op_] = call;
    return *call;
  }

  static FakeHost& of(void* ctx) { return *static_cast<FakeHost*>(ctx); }

  void violated(std::string sentence) { violations_.push_back(std::move(sentence)); }

  void cancel_locked(Call& call) {
    call.cancelled = true;
    call.cancel_signal.raise();
    changed_.notify_all();
  }

  void resume_locked(Call& call) {
    call.paused = false;
    call.since_pause_bytes = 0;
    call.ready_signal.raise();
    changed_.notify_all();
  }

  // The call behind an open operation; nothing, and a violation, when it is dead or unknown.
  // [OP-001]
  std::shared_ptr<Call> find(berth_op op, const char* function) {
    const auto found = calls_.find(op);
    if (found != calls_.end() && !found->second->completed) return found->second;
    violated(std::string(function) + " of an operation that is " +
             (found == calls_.end() ? "not known [OP-001]" : "completed [OP-002]"));
    return nullptr;
  }

  bool is_cancelled(const Call& call) const {
    return call.cancelled || (call.deadline_ns != 0 && detail::now_ns() >= call.deadline_ns);
  }

  void complete(berth_op op, const berth_outcome* from) {
    const std::lock_guard lock(mutex_);
    const auto call = find(op, "op_complete");
    if (!call) return;
    const berth_outcome outcome = detail::receive(from);
    if (outcome.reserved != 0) violated("a reserved field of an outcome is not zero [MEM-004]");
    if (outcome.outcome_class > BERTH_UNCERTAIN) violated("an unknown outcome class [OUT-001]");
    if (outcome.code > BERTH_CODE_INTERNAL) violated("an unknown code [OUT-002]");
    const bool done = outcome.outcome_class == BERTH_DONE;
    if (done && outcome.result == nullptr && detail::must_have_result(call->slot))
      violated("DONE without the result of its slot [OUT-004]");
    if (!done && outcome.message.len == 0 && outcome.outcome_class != BERTH_UNSET)
      violated("an outcome other than DONE without a message [ERR-003]");
    Answer& answer = call->answer;
    answer.outcome_class = static_cast<OutcomeClass>(outcome.outcome_class);
    answer.code = static_cast<Code>(outcome.code);
    answer.retry_after = std::chrono::milliseconds(outcome.retry_after_ms);
    answer.message = detail::copy(outcome.message);
    if (outcome.stage.len != 0) answer.stages.push_back(detail::copy(outcome.stage));
    if (done) answer.result = detail::copy_result(call->slot, outcome.result);
    if (done && call->slot == Slot::kLookup &&
        answer.get<Found>().presence == Presence::kAbsentFenced)
      violated("lookup said ABSENT_FENCED, which only fence may [KEY-004]");
    call->completed = true;
    if (call->slot == Slot::kShutdown) {
      for (const auto& [other, other_call] : calls_)
        if (!other_call->completed)
          violated("shutdown completed while an operation was open [SHUT-001]");
    }
    changed_.notify_all();
  }

  berth_flow output(berth_op op, berth_stream stream, berth_bytes bytes) {
    const std::lock_guard lock(mutex_);
    const auto call = find(op, "output");
    if (!call) return BERTH_OUTPUT_CANCELLED;
    const bool file = call->slot == Slot::kGetFile;
    const bool fits = file ? stream == BERTH_STREAM_FILE
                           : call->slot == Slot::kRun &&
                                 (stream == BERTH_STREAM_STDOUT || stream == BERTH_STREAM_STDERR);
    if (!fits) violated("output on a stream that this slot does not have [STRM-001]");
    if (bytes.len > BERTH_OUTPUT_CHUNK_MAX_BYTES) violated("a chunk of more than 64 KiB [MEM-006]");
    if (call->paused) violated("output while the operation is paused [STRM-004]");
    if (is_cancelled(*call)) return BERTH_OUTPUT_CANCELLED;
    std::uint64_t& received = call->received_bytes[stream];
    const std::uint64_t cap = stream == BERTH_STREAM_STDOUT   ? call->behaviour.stdout_limit_bytes
                              : stream == BERTH_STREAM_STDERR ? call->behaviour.stderr_limit_bytes
                                                              : 0;
    if (cap != 0 && received >= cap && bytes.len != 0)
      violated("output of a stream whose cap was reached [STRM-005]");
    const std::uint64_t kept =
        cap == 0 ? bytes.len : std::min(bytes.len, cap - std::min(cap, received));
    std::string& text = stream == BERTH_STREAM_STDOUT   ? call->answer.out
                        : stream == BERTH_STREAM_STDERR ? call->answer.err
                                                        : call->answer.file;
    if (kept != 0) text.append(reinterpret_cast<const char*>(bytes.ptr), kept);
    received += bytes.len;
    call->since_pause_bytes += bytes.len;
    changed_.notify_all();
    if (cap != 0 && received >= cap) return BERTH_OUTPUT_LIMIT;
    const std::uint64_t every = call->behaviour.pause_every_bytes;
    if (every != 0 && call->since_pause_bytes >= every) {
      call->paused = true;
      call->ready_signal.lower();
      return BERTH_OUTPUT_PAUSE;
    }
    return BERTH_OUTPUT_ACCEPTED;
  }

  berth_input_status input(berth_op op, std::uint8_t* buffer, std::uint64_t capacity,
                           std::uint64_t* got) {
    const std::lock_guard lock(mutex_);
    *got = 0;
    const auto call = find(op, "input");
    if (!call) return BERTH_INPUT_CANCELLED;
    if (call->slot != Slot::kPutFile && call->slot != Slot::kRun)
      violated("input of a slot that has none [STRM-002]");
    if (is_cancelled(*call)) return BERTH_INPUT_CANCELLED;
    if (call->input_at == call->input.size()) return BERTH_INPUT_END;
    if (call->behaviour.input_arrives_late && !std::exchange(call->input_held_back, true)) {
      call->ready_signal.raise();
      return BERTH_INPUT_AGAIN;
    }
    call->input_held_back = false;
    std::uint64_t size = std::min<std::uint64_t>(capacity, call->input.size() - call->input_at);
    if (call->behaviour.input_chunk_bytes != 0)
      size = std::min(size, call->behaviour.input_chunk_bytes);
    std::memcpy(buffer, call->input.data() + call->input_at, size);
    call->input_at += size;
    *got = size;
    return BERTH_INPUT_DATA;
  }

  berth_wait_status wait_ready(berth_op op, std::uint64_t timeout_ns) {
    std::unique_lock lock(mutex_);
    const auto call = find(op, "op_wait");
    if (!call) return BERTH_WAIT_CANCELLED;
    if (call->paused && call->behaviour.resume_by_itself) resume_locked(*call);
    const auto until = timeout_ns == 0
                           ? kPatience
                           : std::chrono::nanoseconds(static_cast<std::int64_t>(timeout_ns));
    const auto deadline = std::chrono::steady_clock::now() + until;
    while (!is_cancelled(*call) && call->paused) {
      const auto slice =
          std::min(deadline, std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
      changed_.wait_until(lock, slice);
      if (std::chrono::steady_clock::now() >= deadline) return BERTH_WAIT_TIMEOUT;
    }
    return is_cancelled(*call) ? BERTH_WAIT_CANCELLED : BERTH_WAIT_READY;
  }

  std::uint32_t give(const std::map<std::string, std::string>& values, berth_str name,
                     berth_write_fn write, void* user) {
    const auto found = values.find(detail::copy(name));
    if (found == values.end()) return 0;
    write(user, found->second.data(), found->second.size());
    return 1;
  }

  void fill_table();

  std::mutex mutex_;
  std::condition_variable changed_;
  berth_host_v1 table_{};
  void* self_ = nullptr;
  const berth_provider_v1* provider_ = nullptr;
  Behaviour behaviour_;
  std::chrono::nanoseconds deadline_from_now_{0};
  berth_op next_op_ = 1;
  berth_op last_op_ = 0;
  std::map<berth_op, std::shared_ptr<Call>> calls_;
  std::map<std::string, std::string> secrets_;
  std::map<std::string, std::string> config_;
  std::set<std::string> declared_;
  std::vector<std::string> violations_;
  std::vector<std::string> log_lines_;
  detail::LentThreads threads_;
};

// The table is filled from stateless functions, so each may be called from any thread.
inline void FakeHost::fill_table() {
  table_.struct_size = sizeof table_;
  table_.ctx = this;
  table_.log = [](void* ctx, berth_log_level, berth_str message) {
    const std::lock_guard lock(of(ctx).mutex_);
    of(ctx).log_lines_.push_back(detail::copy(message));
  };
  table_.op_complete = [](void* ctx, berth_op op, const berth_outcome* outcome) {
    of(ctx).complete(op, outcome);
  };
  table_.op_stage = [](void* ctx, berth_op op, berth_str stage) {
    const std::lock_guard lock(of(ctx).mutex_);
    if (stage.len > BERTH_STAGE_MAX_BYTES)
      of(ctx).violated("a stage of more than 64 bytes [MEM-006]");
    if (const auto call = of(ctx).find(op, "op_stage"))
      call->answer.stages.push_back(detail::copy(stage));
  };
  table_.op_cancelled = [](void* ctx, berth_op op) -> std::uint32_t {
    const std::lock_guard lock(of(ctx).mutex_);
    const auto call = of(ctx).find(op, "op_cancelled");
    return !call || of(ctx).is_cancelled(*call) ? 1u : 0u;
  };
  table_.op_cancel_fd = [](void* ctx, berth_op op) -> std::int32_t {
    const std::lock_guard lock(of(ctx).mutex_);
    const auto call = of(ctx).find(op, "op_cancel_fd");
    return call ? call->cancel_signal.fd() : -1;
  };
  table_.op_deadline = [](void* ctx, berth_op op) -> std::uint64_t {
    const std::lock_guard lock(of(ctx).mutex_);
    const auto call = of(ctx).find(op, "op_deadline");
    return call ? call->deadline_ns : 0;
  };
  table_.output = [](void* ctx, berth_op op, berth_stream stream, berth_bytes bytes) {
    return of(ctx).output(op, stream, bytes);
  };
  table_.input = [](void* ctx, berth_op op, std::uint8_t* buffer, std::uint64_t capacity,
                    std::uint64_t* got) { return of(ctx).input(op, buffer, capacity, got); };
  table_.op_ready_fd = [](void* ctx, berth_op op) -> std::int32_t {
    const std::lock_guard lock(of(ctx).mutex_);
    const auto call = of(ctx).find(op, "op_ready_fd");
    if (call && call->paused && call->behaviour.resume_by_itself) of(ctx).resume_locked(*call);
    return call ? call->ready_signal.fd() : -1;
  };
  table_.op_wait = [](void* ctx, berth_op op, std::uint64_t timeout_ns) {
    return of(ctx).wait_ready(op, timeout_ns);
  };
  table_.config_get = [](void* ctx, berth_str key, berth_write_fn write, void* user) {
    return of(ctx).give(of(ctx).config_, key, write, user);
  };
  table_.secret_get = [](void* ctx, berth_str name, berth_write_fn write,
                         void* user) -> std::uint32_t {
    FakeHost& host = of(ctx);
    const std::string wanted = detail::copy(name);
    if (!host.secrets_.contains(wanted) && !host.declared_.contains(wanted)) {
      const std::lock_guard lock(host.mutex_);
      host.violated("secret_get of " + wanted + ", which is not declared [SCOPE-004]");
    }
    return host.give(host.secrets_, name, write, user);
  };
  table_.now = [](void*) { return detail::now_ns(); };
  table_.post_blocking = [](void* ctx, berth_task_fn task, void* user) -> std::uint32_t {
    return of(ctx).threads_.post([task, user] { task(user); }) ? 1u : 0u;
  };
}

}  // namespace berth::testing

#endif  // BERTH_TESTING_FAKE_HOST_HPP
