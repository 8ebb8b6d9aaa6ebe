// LOAD, OPEN and SCOPE.
#include <sys/stat.h>

#include <set>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

struct ChangesUmask : Twin {
  void open(berth_op op, const berth_open_spec* spec) override {
    ::umask(0);
    Twin::open(op, spec);
  }
};

// What an open that failed has left decides about every later one.
struct OpensOnce : Twin {
  static inline constinit bool failed = false;
  berth_op opening = 0;
  void open(berth_op op, const berth_open_spec* spec) override {
    if (failed) return ended(op, BERTH_REJECTED, BERTH_CODE_CONFLICT, "it was opened before; start again");
    opening = op;
    Twin::open(op, spec);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (op == opening) failed = outcome->outcome_class != BERTH_DONE;
    Twin::op_complete(op, outcome);
  }
};

// The third time the fields come in another order.
struct ScopeTurns : Twin {
  int scopes = 0;
  void scope(berth_op op) override {
    if (++scopes != 3) return Twin::scope(op);
    const berth_pair fields[] = {{text("endpoint"), text("memory")}, {text("account"), text("reference")}};
    berth_scope_result result{};
    result.struct_size = sizeof result;
    result.fields = {fields, 2};
    done(op, &result);
  }
};

// The third time the key is in it as it is.
struct ScopeTellsTheKey : Twin {
  int scopes = 0;
  static void take(void* user, const char* piece, std::uint64_t size) {
    static_cast<std::string*>(user)->append(piece, size);
  }
  void scope(berth_op op) override {
    if (++scopes != 3) return Twin::scope(op);
    std::string key;
    host().secret_get(host().ctx, text("BERTH_BROKEN_SECRET"), take, &key);
    const berth_pair fields[] = {{text("account"), text(key)}, {text("endpoint"), text("memory")}};
    berth_scope_result result{};
    result.struct_size = sizeof result;
    result.fields = {fields, 2};
    done(op, &result);
  }
};

// The scope tells how often the provider was opened before.
struct ScopeWanders : Twin {
  bool again = false;
  void open(berth_op op, const berth_open_spec* spec) override {
    const std::string mark = text(spec->state_dir) + "/opened";
    again = ::mkdir(mark.c_str(), 0700) != 0;
    Twin::open(op, spec);
  }
  void scope(berth_op op) override {
    if (!again) return Twin::scope(op);
    const berth_pair fields[] = {{text("account"), text("reference-again")}, {text("endpoint"), text("memory")}};
    berth_scope_result result{};
    result.struct_size = sizeof result;
    result.fields = {fields, 2};
    done(op, &result);
  }
};

// Once the scope was asked for, lookup names the account the key belongs to now, whatever account the sandbox was
// made in.
struct LookupFollows : Twin {
  std::set<berth_op> lookups;
  bool asked = false;
  void scope(berth_op op) override {
    asked = true;
    Twin::scope(op);
  }
  void lookup(berth_op op, berth_str name) override {
    lookups.insert(op);
    Twin::lookup(op, name);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (lookups.erase(op) == 0 || !asked || outcome->outcome_class != BERTH_DONE)
      return Twin::op_complete(op, outcome);
    const berth_pair fields[] = {{text("account"), text("another")}, {text("endpoint"), text("memory")}};
    berth_lookup_result result = *static_cast<const berth_lookup_result*>(outcome->result);
    if (result.scope.count != 0) result.scope = {fields, 2};
    berth_outcome changed = *outcome;
    changed.result = &result;
    Twin::op_complete(op, &changed);
  }
};

struct AsksForMore : Twin {
  void open(berth_op op, const berth_open_spec* spec) override {
    const auto ignore = [](void*, const char*, std::uint64_t) {};
    host().secret_get(host().ctx, text("PATH"), ignore, nullptr);
    Twin::open(op, spec);
  }
};

}  // namespace

const Faults& load_faults() {
  static const Faults* const all = new Faults{
      {"LOAD-007", &make<ChangesUmask>},  {"OPEN-002", &make<OpensOnce>},
      {"SCOPE-001", &make<ScopeTurns>},   {"SCOPE-001/tells", &make<ScopeTellsTheKey>},
      {"SCOPE-002", &make<ScopeWanders>},
      {"SCOPE-003", &make<LookupFollows>}, {"SCOPE-004", &make<AsksForMore>},
  };
  return *all;
}

}  // namespace berth::broken
