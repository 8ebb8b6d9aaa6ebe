// SPDX-License-Identifier: Apache-2.0
//
// What a provider answered, copied out of the ABI the way a host has to: by struct_size, with every
// unknown value read the careful way.
#ifndef BERTH_TESTING_ANSWERS_HPP
#define BERTH_TESTING_ANSWERS_HPP

#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "berth/abi.h"
#include "berth/detail/receive.hpp"
#include "berth/outcome.hpp"
#include "berth/values.hpp"

namespace berth::testing {

enum class Slot {
  kOpen,
  kProbe,
  kScope,
  kCreate,
  kLookup,
  kFence,
  kRun,
  kPutFile,
  kGetFile,
  kDestroy,
  kListOwned,
  kShutdown,
};

using Result = std::variant<std::monostate, ProbeReport, Scope, Created, Found, RunResult, GotFile,
                            Destroyed, ListPage>;

// One finished operation.
struct Answer {
  OutcomeClass outcome_class = OutcomeClass::kUnset;
  Code code = Code::kNone;
  std::chrono::milliseconds retry_after{0};
  std::string message;
  std::vector<std::string> stages;
  std::string out;   // what was accepted of standard output
  std::string err;   // and of standard error
  std::string file;  // and of a file's contents
  Result result;

  bool done() const { return outcome_class == OutcomeClass::kDone; }

  // The result of the slot; throws std::logic_error with the message when there is none of this
  // type.
  template <class T>
  const T& get() const {
    if (const T* value = std::get_if<T>(&result)) return *value;
    throw std::logic_error("the operation has no such result: " + message);
  }
};

namespace detail {

using sdk_v1::detail::receive;
using sdk_v1::detail::view;

inline std::string copy(berth_str text) { return std::string(view(text)); }

inline Scope copy(berth_pair_list list) {
  Scope out;
  for (std::uint64_t i = 0; i < list.count; ++i)
    out.emplace_back(copy(list.items[i].key), copy(list.items[i].value));
  return out;
}

// Elements are as large as the first one says. [MEM-003]
template <class Struct>
std::vector<Struct> elements(const Struct* first, std::uint64_t count) {
  std::vector<Struct> out;
  const auto* at = reinterpret_cast<const unsigned char*>(first);
  for (std::uint64_t i = 0; i < count; ++i, at += first->struct_size)
    out.push_back(receive(reinterpret_cast<const Struct*>(at)));
  return out;
}

inline std::optional<Usage> copy(const berth_usage* from) {
  if (from == nullptr) return std::nullopt;
  const berth_usage usage = receive(from);
  return Usage{usage.epoch,
               usage.wall_ns,
               usage.cpu_ns,
               usage.memory_peak_bytes,
               usage.network_egress_bytes,
               usage.cost_micro_usd};
}

inline ProbeReport copy(const berth_probe_result& from) {
  ProbeReport out;
  out.usable = from.usable != 0;
  out.backend = copy(from.backend);
  for (const auto& item : elements(from.capabilities, from.capability_count))
    out.capabilities.push_back({copy(item.id), item.available != 0, copy(item.reason)});
  for (const auto& item : elements(from.items, from.item_count))
    out.items.push_back({copy(item.name), item.ok != 0, copy(item.detail), copy(item.remedy)});
  return out;
}

inline Found copy(const berth_lookup_result& from) {
  return {static_cast<Presence>(from.presence),
          static_cast<SandboxState>(from.state),
          copy(from.name),
          copy(from.ref),
          copy(from.scope),
          from.created_unix_ms};
}

inline ListPage copy(const berth_list_result& from) {
  ListPage out;
  for (const auto& item : elements(from.items, from.item_count))
    out.items.push_back({copy(item.name), copy(item.ref), static_cast<SandboxState>(item.state),
                         item.created_unix_ms, copy(item.holder)});
  out.next_cursor = copy(from.next_cursor);
  return out;
}

template <class Struct>
Struct received(const void* result) {
  return receive(static_cast<const Struct*>(result));
}

inline Result copy_result(Slot slot, const void* result) {
  if (result == nullptr) return {};
  switch (slot) {
    case Slot::kProbe:
      return copy(received<berth_probe_result>(result));
    case Slot::kScope:
      return copy(received<berth_scope_result>(result).fields);
    case Slot::kCreate: {
      const auto own = received<berth_create_result>(result);
      return Created{copy(own.name), copy(own.ref), copy(own.scope)};
    }
    case Slot::kLookup:
    case Slot::kFence:
      return copy(received<berth_lookup_result>(result));
    case Slot::kRun: {
      const auto own = received<berth_run_result>(result);
      return RunResult{static_cast<Cause>(own.cause),
                       own.exit_code,
                       own.signal,
                       own.stdout_bytes,
                       own.stderr_bytes,
                       copy(own.usage)};
    }
    case Slot::kGetFile: {
      const auto own = received<berth_get_file_result>(result);
      return GotFile{own.mode, own.size_bytes};
    }
    case Slot::kDestroy:
      return Destroyed{copy(received<berth_destroy_result>(result).usage)};
    case Slot::kListOwned:
      return copy(received<berth_list_result>(result));
    case Slot::kOpen:
    case Slot::kPutFile:
    case Slot::kShutdown:
      return {};
  }
  return {};
}

// Which slots have a result with DONE. [OUT-004]
inline bool must_have_result(Slot slot) {
  switch (slot) {
    case Slot::kOpen:
    case Slot::kPutFile:
    case Slot::kDestroy:  // may be NULL
    case Slot::kShutdown:
      return false;
    case Slot::kProbe:
    case Slot::kScope:
    case Slot::kCreate:
    case Slot::kLookup:
    case Slot::kFence:
    case Slot::kRun:
    case Slot::kGetFile:
    case Slot::kListOwned:
      return true;
  }
  return true;
}

}  // namespace detail
}  // namespace berth::testing

#endif  // BERTH_TESTING_ANSWERS_HPP
