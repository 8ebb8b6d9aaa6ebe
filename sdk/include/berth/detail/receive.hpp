// SPDX-License-Identifier: Apache-2.0
//
// From the ABI's structs to C++ values and back.
//
// `receive` is the one place that applies the growth rule: copy what the sender knew into a zeroed
// struct of our own, so that code behind it never asks how old the other side is.
#ifndef BERTH_DETAIL_RECEIVE_HPP
#define BERTH_DETAIL_RECEIVE_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "berth/abi.h"
#include "berth/outcome.hpp"
#include "berth/values.hpp"

namespace berth {
inline namespace sdk_v1 {
namespace detail {

template <class Struct>
Struct receive(const Struct* from) {
  Struct own{};
  if (from != nullptr) {
    std::memcpy(&own, from, std::min<std::size_t>(from->struct_size, sizeof(Struct)));
  }
  own.struct_size = sizeof(Struct);
  return own;
}

inline berth_str to_abi(std::string_view text) { return {text.data(), text.size()}; }

inline std::string_view view(berth_str text) {
  if (text.ptr == nullptr || text.len == 0) return {};
  return {text.ptr, static_cast<std::size_t>(text.len)};
}

// At most `bytes_max` bytes, cut between characters.
inline std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max != 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xC0u) == 0x80u)
    --bytes_max;
  return text.substr(0, bytes_max);
}

inline void require(bool holds, const char* sentence) {
  if (!holds) throw Failure::rejected(Code::kInvalidArgument, sentence);
}

inline std::vector<std::string_view> views(berth_str_list list) {
  require(list.count <= BERTH_LIST_MAX_ITEMS, "a list has more than 65536 items [MEM-006]");
  std::vector<std::string_view> out;
  out.reserve(list.count);
  for (std::uint64_t i = 0; i < list.count; ++i) out.push_back(view(list.items[i]));
  return out;
}

inline std::vector<PairView> views(berth_pair_list list) {
  require(list.count <= BERTH_LIST_MAX_ITEMS, "a list has more than 65536 items [MEM-006]");
  std::vector<PairView> out;
  out.reserve(list.count);
  for (std::uint64_t i = 0; i < list.count; ++i) {
    out.push_back({view(list.items[i].key), view(list.items[i].value)});
  }
  return out;
}

inline std::chrono::nanoseconds duration(std::uint64_t nanoseconds) {
  constexpr auto kMax = static_cast<std::uint64_t>(INT64_MAX);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(nanoseconds, kMax)));
}

inline Limits to_limits(const berth_limits* from) {
  const berth_limits limits = receive(from);
  return {limits.cpu_millis, limits.memory_bytes,    duration(limits.cpu_time_ns),
          limits.disk_bytes, limits.file_size_bytes, limits.processes,
          limits.open_files};
}

inline OpenSpec to_value(const berth_open_spec* from) {
  const berth_open_spec spec = receive(from);
  require(spec.reserved == 0, "open: a reserved field is not zero [MEM-004]");
  return {view(spec.config_json), view(spec.state_dir), view(spec.owner_tag)};
}

inline CreateSpec to_value(const berth_create_spec* from) {
  const berth_create_spec spec = receive(from);
  require(spec.network == BERTH_NETWORK_NONE || spec.network == BERTH_NETWORK_OPEN,
          "create: the network asked for is not one this provider knows [ERR-004]");
  CreateSpec out;
  out.network = static_cast<Network>(spec.network);
  out.owner_tag = view(spec.owner_tag);
  out.lifetime = duration(spec.lifetime_ns);
  out.languages = views(spec.languages);
  out.image = view(spec.image);
  out.limits = to_limits(spec.limits);
  out.env = views(spec.env);
  return out;
}

inline Command to_value(const berth_command* from) {
  const berth_command command = receive(from);
  require(command.argv.count != 0, "run: argv is empty [RUN-001]");
  require(command.stdin_source == BERTH_STDIN_EMPTY || command.stdin_source == BERTH_STDIN_INPUT,
          "run: the source of standard input is not one this provider knows [ERR-004]");
  Command out;
  out.stdin_source = static_cast<StdinSource>(command.stdin_source);
  out.argv = views(command.argv);
  out.cwd = view(command.cwd);
  out.env = views(command.env);
  out.timeout = duration(command.timeout_ns);
  out.stdout_cap_bytes = command.stdout_cap_bytes;
  out.stderr_cap_bytes = command.stderr_cap_bytes;
  if (command.limits != nullptr) out.limits = to_limits(command.limits);
  return out;
}

inline PutFile to_value(const berth_put_file_spec* from) {
  const berth_put_file_spec spec = receive(from);
  const std::uint32_t mode = spec.mode == 0 ? 0644u : spec.mode;
  require(mode <= 07777u, "put_file: the mode has more than permission bits [FILE-001]");
  require(view(spec.path).starts_with('/'), "put_file: the path is not absolute [FILE-001]");
  return {view(spec.path), mode, spec.size_bytes};
}

inline GetFile to_value(const berth_get_file_spec* from) {
  const berth_get_file_spec spec = receive(from);
  require(spec.reserved == 0, "get_file: a reserved field is not zero [MEM-004]");
  require(view(spec.path).starts_with('/'), "get_file: the path is not absolute [FILE-002]");
  return {view(spec.path), spec.max_bytes};
}

}  // namespace detail
}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_DETAIL_RECEIVE_HPP
