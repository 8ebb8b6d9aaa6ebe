// SPDX-License-Identifier: Apache-2.0
//
// Completes an operation from a C++ result. The authoring layer ends every operation here; a
// provider that fills the table itself may do so too. Any thread; once per operation.
//
// The host copies everything during op_complete, so the ABI structs made here live on this stack
// only.
#ifndef BERTH_ANSWER_HPP
#define BERTH_ANSWER_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/abi.h"
#include "berth/host.hpp"
#include "berth/outcome.hpp"
#include "berth/values.hpp"

namespace berth {
inline namespace sdk_v1 {
namespace detail {

template <class Struct>
Struct sized() {
  Struct own{};
  own.struct_size = sizeof(Struct);
  return own;
}

inline std::vector<berth_pair> pairs_of(const Scope& scope) {
  std::vector<berth_pair> out;
  out.reserve(scope.size());
  for (const auto& [key, value] : scope) out.push_back({to_abi(key), to_abi(value)});
  return out;
}

inline berth_usage to_abi(const Usage& usage) {
  auto own = sized<berth_usage>();
  own.epoch = usage.epoch;
  own.wall_ns = usage.wall_ns;
  own.cpu_ns = usage.cpu_ns;
  own.memory_peak_bytes = usage.memory_peak_bytes;
  own.network_egress_bytes = usage.network_egress_bytes;
  own.cost_micro_usd = usage.cost_micro_usd;
  return own;
}

}  // namespace detail

inline void answer_failure(const Host& host, berth_op op, OutcomeClass outcome_class, Code code,
                           std::string_view message, std::uint64_t retry_after_ms = 0) {
  auto outcome = detail::sized<berth_outcome>();
  outcome.outcome_class = static_cast<berth_outcome_class>(outcome_class);
  outcome.code = static_cast<berth_code>(code);
  outcome.retry_after_ms = retry_after_ms;
  outcome.message = detail::to_abi(detail::utf8_prefix(message, BERTH_MESSAGE_MAX_BYTES));
  host.table().op_complete(host.table().ctx, op, &outcome);
}

inline void answer_done(const Host& host, berth_op op, const void* result = nullptr) {
  auto outcome = detail::sized<berth_outcome>();
  outcome.outcome_class = BERTH_DONE;
  outcome.result = result;
  host.table().op_complete(host.table().ctx, op, &outcome);
}

inline void answer(const Host& host, berth_op op, const ProbeReport& report) {
  std::vector<berth_capability> capabilities;
  capabilities.reserve(report.capabilities.size());
  for (const Capability& capability : report.capabilities) {
    auto own = detail::sized<berth_capability>();
    own.available = capability.available ? 1u : 0u;
    own.id = detail::to_abi(capability.id);
    own.reason = detail::to_abi(capability.reason);
    capabilities.push_back(own);
  }
  std::vector<berth_probe_item> items;
  items.reserve(report.items.size());
  for (const ProbeItem& item : report.items) {
    auto own = detail::sized<berth_probe_item>();
    own.ok = item.ok ? 1u : 0u;
    own.name = detail::to_abi(item.name);
    own.detail = detail::to_abi(item.detail);
    own.remedy = detail::to_abi(item.remedy);
    items.push_back(own);
  }
  auto result = detail::sized<berth_probe_result>();
  result.usable = report.usable ? 1u : 0u;
  result.backend = detail::to_abi(report.backend);
  result.capabilities = capabilities.data();
  result.capability_count = capabilities.size();
  result.items = items.data();
  result.item_count = items.size();
  answer_done(host, op, &result);
}

inline void answer(const Host& host, berth_op op, const Scope& scope) {
  const std::vector<berth_pair> fields = detail::pairs_of(scope);
  auto result = detail::sized<berth_scope_result>();
  result.fields = {fields.data(), fields.size()};
  answer_done(host, op, &result);
}

inline void answer(const Host& host, berth_op op, const Created& created) {
  const std::vector<berth_pair> scope = detail::pairs_of(created.scope);
  auto result = detail::sized<berth_create_result>();
  result.name = detail::to_abi(created.name);
  result.ref = detail::to_abi(created.ref);
  result.scope = {scope.data(), scope.size()};
  answer_done(host, op, &result);
}

inline void answer(const Host& host, berth_op op, const Found& found) {
  const std::vector<berth_pair> scope = detail::pairs_of(found.scope);
  auto result = detail::sized<berth_lookup_result>();
  result.presence = static_cast<berth_presence>(found.presence);
  result.state = static_cast<berth_sandbox_state>(found.state);
  result.name = detail::to_abi(found.name);
  result.ref = detail::to_abi(found.ref);
  result.scope = {scope.data(), scope.size()};
  result.created_unix_ms = found.created_unix_ms;
  answer_done(host, op, &result);
}

inline void answer(const Host& host, berth_op op, const RunResult& ran) {
  auto result = detail::sized<berth_run_result>();
  result.cause = static_cast<berth_cause>(ran.cause);
  result.exit_code = ran.exit_code;
  result.signal = ran.signal;
  result.stdout_bytes = ran.stdout_bytes;
  result.stderr_bytes = ran.stderr_bytes;
  const berth_usage usage = detail::to_abi(ran.usage.value_or(Usage{}));
  if (ran.usage) result.usage = &usage;
  answer_done(host, op, &result);
}

inline void answer(const Host& host, berth_op op, const GotFile& got) {
  auto result = detail::sized<berth_get_file_result>();
  result.mode = got.mode;
  result.size_bytes = got.size_bytes;
  answer_done(host, op, &result);
}

inline void answer(const Host& host, berth_op op, const Destroyed& destroyed) {
  auto result = detail::sized<berth_destroy_result>();
  const berth_usage usage = detail::to_abi(destroyed.usage.value_or(Usage{}));
  if (destroyed.usage) result.usage = &usage;
  answer_done(host, op, &result);
}

inline void answer(const Host& host, berth_op op, const ListPage& page) {
  std::vector<berth_listed> items;
  items.reserve(page.items.size());
  for (const Listed& listed : page.items) {
    auto own = detail::sized<berth_listed>();
    own.state = static_cast<berth_sandbox_state>(listed.state);
    own.name = detail::to_abi(listed.name);
    own.ref = detail::to_abi(listed.ref);
    own.created_unix_ms = listed.created_unix_ms;
    own.holder = detail::to_abi(listed.holder);
    items.push_back(own);
  }
  auto result = detail::sized<berth_list_result>();
  result.complete = page.next_cursor.empty() ? 1u : 0u;
  result.items = items.data();
  result.item_count = items.size();
  result.next_cursor = detail::to_abi(page.next_cursor);
  answer_done(host, op, &result);
}

}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_ANSWER_HPP
