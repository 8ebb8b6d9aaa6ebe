// SPDX-License-Identifier: Apache-2.0
//
// The provider's table, made once for every shell: each slot decodes its arguments and hands the
// shell a call to make. The shell decides on which thread the call runs.
#ifndef BERTH_DETAIL_TABLE_HPP
#define BERTH_DETAIL_TABLE_HPP

#include <tuple>

#include "berth/abi.h"
#include "berth/detail/receive.hpp"

namespace berth {
inline namespace sdk_v1 {
namespace detail {

template <class Shell>
struct Table {
  static Shell& shell(void* self) { return *static_cast<Shell*>(self); }

  static void open(void* self, berth_op op, const berth_open_spec* spec) {
    shell(self).start_open(op, [=] { return to_value(spec); });
  }

  static const void* get_extension(void*, berth_str id) { return Shell::extension(view(id)); }

  static void probe(void* self, berth_op op) {
    shell(self).start(
        op, "probe", [] { return std::tuple(); }, [](auto& p, auto& o) { return p.probe(o); });
  }

  static void scope(void* self, berth_op op) {
    shell(self).start(
        op, "scope", [] { return std::tuple(); }, [](auto& p, auto& o) { return p.scope(o); });
  }

  static void create(void* self, berth_op op, berth_str name, const berth_create_spec* spec) {
    shell(self).start(
        op, "create", [=] { return std::tuple(view(name), to_value(spec)); },
        [](auto& p, auto& o, auto& n, auto& s) { return p.create(o, n, s); });
  }

  static void lookup(void* self, berth_op op, berth_str name) {
    shell(self).start(
        op, "lookup", [=] { return std::tuple(view(name)); },
        [](auto& p, auto& o, auto& n) { return p.lookup(o, n); });
  }

  static void fence(void* self, berth_op op, berth_str name) {
    shell(self).start(
        op, "fence", [=] { return std::tuple(view(name)); },
        [](auto& p, auto& o, auto& n) { return p.fence(o, n); });
  }

  static void run(void* self, berth_op op, berth_str ref, const berth_command* command) {
    shell(self).start(
        op, "run", [=] { return std::tuple(view(ref), to_value(command)); },
        [](auto& p, auto& o, auto& r, auto& c) { return p.run(o, r, c); });
  }

  static void put_file(void* self, berth_op op, berth_str ref, const berth_put_file_spec* spec) {
    shell(self).start(
        op, "put_file", [=] { return std::tuple(view(ref), to_value(spec)); },
        [](auto& p, auto& o, auto& r, auto& s) { return p.put_file(o, r, s); });
  }

  static void get_file(void* self, berth_op op, berth_str ref, const berth_get_file_spec* spec) {
    shell(self).start(
        op, "get_file", [=] { return std::tuple(view(ref), to_value(spec)); },
        [](auto& p, auto& o, auto& r, auto& s) { return p.get_file(o, r, s); });
  }

  static void destroy(void* self, berth_op op, berth_str name, berth_str ref) {
    shell(self).start(
        op, "destroy", [=] { return std::tuple(view(name), view(ref)); },
        [](auto& p, auto& o, auto& n, auto& r) { return p.destroy(o, n, r); });
  }

  static void list_owned(void* self, berth_op op, berth_str tag, berth_str cursor) {
    shell(self).start(
        op, "list_owned", [=] { return std::tuple(view(tag), view(cursor)); },
        [](auto& p, auto& o, auto& t, auto& c) { return p.list_owned(o, t, c); });
  }

  static void shutdown(void* self, berth_op op) { shell(self).start_shutdown(op); }

  static constexpr berth_provider_v1 kTable = {
      sizeof(berth_provider_v1),
      0,
      &open,
      &get_extension,
      &probe,
      &scope,
      &create,
      &lookup,
      Shell::kFences ? &fence : nullptr,
      &run,
      &put_file,
      &get_file,
      &destroy,
      &list_owned,
      &shutdown,
  };
};

}  // namespace detail
}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_DETAIL_TABLE_HPP
