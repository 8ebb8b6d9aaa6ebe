// SPDX-License-Identifier: Apache-2.0
//
// The host, seen from a provider, and one operation, seen from the code that performs it.
//
// A Host is valid from the construction of the provider until its shutdown has completed. An
// Operation is valid until the slot it was passed to returns. Every member of both may be called
// from any thread of the provider; those that may wait say so.
#ifndef BERTH_HOST_HPP
#define BERTH_HOST_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/abi.h"
#include "berth/detail/json_texts.hpp"
#include "berth/detail/receive.hpp"
#include "berth/outcome.hpp"

namespace berth {
inline namespace sdk_v1 {

enum class LogLevel : std::uint32_t {
  kDebug = BERTH_LOG_DEBUG,
  kInfo = BERTH_LOG_INFO,
  kWarn = BERTH_LOG_WARN,
  kError = BERTH_LOG_ERROR,
};

enum class Stream : std::uint32_t {
  kStdout = BERTH_STREAM_STDOUT,
  kStderr = BERTH_STREAM_STDERR,
  kFile = BERTH_STREAM_FILE,
};

// What became of output. A paused stream is waited for and never seen here.
enum class Flow {
  kAccepted,
  kLimit,      // the cap is reached: keep draining the program and counting, send no more of it
  kCancelled,  // stop producing
};

class Host {
 public:
  explicit Host(const berth_host_v1* table) : table_(detail::receive(table)) {}

  // One line for the operator; rate-limited and bounded by the host.
  void log(LogLevel level, std::string_view line) const {
    table_.log(table_.ctx, static_cast<berth_log_level>(level), detail::to_abi(line));
  }

  // A top-level configuration key as JSON text; nothing when absent.
  std::optional<std::string> config(std::string_view key) const {
    return fetch(table_.config_get, key);
  }

  // The same where the schema says that it is a string, or an array of them. Empty when absent.
  std::vector<std::string> config_texts(std::string_view key) const {
    const std::string json = config(key).value_or("");
    return detail::JsonTexts(json).all();
  }

  // A variable the manifest declares in envRequirements or optionalEnv; nothing when absent.
  std::optional<std::string> secret(std::string_view name) const {
    return fetch(table_.secret_get, name);
  }

  // A clock that never goes back; deadlines are on it.
  std::chrono::nanoseconds now() const {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(table_.now(table_.ctx)));
  }

  // Runs `task(user)` on a thread the host lends. False when the host is shutting down.
  bool post(berth_task_fn task, void* user) const {
    return table_.post_blocking(table_.ctx, task, user) != 0;
  }

  const berth_host_v1& table() const { return table_; }

 private:
  using Getter = std::uint32_t (*)(void*, berth_str, berth_write_fn, void*);

  std::optional<std::string> fetch(Getter getter, std::string_view name) const {
    std::string value;
    const auto append = [](void* user, const char* text, std::uint64_t length) {
      if (length != 0) static_cast<std::string*>(user)->append(text, length);
    };
    if (getter(table_.ctx, detail::to_abi(name), append, &value) == 0) return std::nullopt;
    return value;
  }

  berth_host_v1 table_;
};

// What every operation offers, whatever thread it runs on: none of these waits.
class OperationBase {
 public:
  OperationBase(const Host& host, berth_op op) : host_(host), op_(op) {}
  OperationBase(const OperationBase&) = delete;
  OperationBase& operator=(const OperationBase&) = delete;

  berth_op id() const { return op_; }
  const Host& host() const { return host_; }

  // True once the host asked to cancel or the deadline passed.
  bool cancelled() const { return table().op_cancelled(table().ctx, op_) != 0; }

  // Polls readable once cancelled; the host owns it. -1 when none can be made.
  int cancel_fd() const { return table().op_cancel_fd(table().ctx, op_); }

  // Polls readable when paused output may continue, or else input is there; the host owns it.
  int ready_fd() const { return table().op_ready_fd(table().ctx, op_); }

  // On the clock of Host::now; nothing when the operation has none.
  std::optional<std::chrono::nanoseconds> deadline() const {
    const std::uint64_t at = table().op_deadline(table().ctx, op_);
    if (at == 0) return std::nullopt;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(at));
  }

  // Says how far the operation is: a few lower-case words, stored and shown to whoever waits.
  void stage(std::string_view words) const {
    table().op_stage(table().ctx, op_,
                     detail::to_abi(detail::utf8_prefix(words, BERTH_STAGE_MAX_BYTES)));
  }

 protected:
  ~OperationBase() = default;
  const berth_host_v1& table() const { return host_.table(); }

 private:
  const Host& host_;
  berth_op op_;
};

// An operation of berth::Provider: output and input wait, so straight-line code is enough.
class Operation : public OperationBase {
 public:
  using OperationBase::OperationBase;
  virtual ~Operation() = default;

  // Sends bytes of a stream, in pieces the host takes; waits while the reader is behind.
  virtual Flow output(Stream stream, std::string_view bytes) {
    do {
      const std::string_view piece = bytes.substr(0, BERTH_OUTPUT_CHUNK_MAX_BYTES);
      bytes.remove_prefix(piece.size());
      const Flow flow = send(stream, piece);
      if (flow != Flow::kAccepted) return flow;
    } while (!bytes.empty());
    return Flow::kAccepted;
  }

  // Fetches bytes the caller supplies, waiting for at least one. Zero means the end. Throws
  // Failure::uncertain with kCancelled when the operation is cancelled.
  virtual std::size_t input(std::span<char> buffer) {
    for (;;) {
      std::uint64_t got = 0;
      const auto status = table().input(
          table().ctx, id(), reinterpret_cast<std::uint8_t*>(buffer.data()), buffer.size(), &got);
      if (status == BERTH_INPUT_DATA) return static_cast<std::size_t>(got);
      if (status == BERTH_INPUT_END) return 0;
      if (status != BERTH_INPUT_AGAIN || !wait()) throw cancelled_failure();
    }
  }

  // What a slot that was cancelled and cannot say more may throw.
  static Failure cancelled_failure() {
    return Failure::uncertain(Code::kCancelled, "the operation was cancelled");
  }

 private:
  Flow send(Stream stream, std::string_view piece) {
    const berth_bytes bytes{reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size()};
    switch (table().output(table().ctx, id(), static_cast<berth_stream>(stream), bytes)) {
      case BERTH_OUTPUT_ACCEPTED:
        return Flow::kAccepted;
      case BERTH_OUTPUT_PAUSE:
        return wait() ? Flow::kAccepted : Flow::kCancelled;
      case BERTH_OUTPUT_LIMIT:
        return Flow::kLimit;
      default:  // cancelled, and the conservative reading of anything a later host may say
        return Flow::kCancelled;
    }
  }

  // True when the operation may go on, false when it is cancelled.
  bool wait() {
    constexpr std::uint64_t kAsLongAsItLasts = 0;
    for (;;) {
      switch (table().op_wait(table().ctx, id(), kAsLongAsItLasts)) {
        case BERTH_WAIT_READY:
          return true;
        case BERTH_WAIT_TIMEOUT:
          continue;
        default:
          return false;
      }
    }
  }
};

}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_HOST_HPP
