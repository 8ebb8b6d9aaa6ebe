#include <set>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

constexpr std::string_view kNoSandbox = "kit-no-such-sandbox";

struct UnknownClass : Twin {
  void lookup(berth_op op, berth_str name) override {
    if (!text(name).ends_with("-k")) return Twin::lookup(op, name);
    ended(op, 9, BERTH_CODE_INTERNAL, "ask again later");
  }
};

struct UnknownCode : Twin {
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    if (text(ref) != kNoSandbox) return Twin::run(op, ref, command);
    ended(op, BERTH_REJECTED, 404, "there is no such sandbox; look at its reference");
  }
};

struct NoClass : Twin {
  void get_file(berth_op op, berth_str ref, const berth_get_file_spec* spec) override {
    if (text(ref) != kNoSandbox) return Twin::get_file(op, ref, spec);
    ended(op, BERTH_UNSET, BERTH_CODE_NOT_FOUND, "there is no such sandbox; look at its reference");
  }
};

struct HalfResult : Twin {
  void destroy(berth_op op, berth_str name, berth_str ref) override {
    if (!text(name).ends_with("-k")) return Twin::destroy(op, name, ref);
    berth_destroy_result result{};
    result.struct_size = 4;
    done(op, &result);
  }
};

struct UnknownPresence : Twin {
  void lookup(berth_op op, berth_str name) override {
    if (!text(name).ends_with("-kk")) return Twin::lookup(op, name);
    berth_lookup_result result{};
    result.struct_size = sizeof result;
    result.presence = 17;
    done(op, &result);
  }
};

// A sandbox that is there already is answered without its reference.
struct NoReference : Twin {
  std::set<std::string> known;
  std::set<berth_op> again;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    if (spec->languages.count == 1 && !known.insert(text(name)).second) again.insert(op);
    Twin::create(op, name, spec);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (again.erase(op) == 0 || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    berth_create_result result = *static_cast<const berth_create_result*>(outcome->result);
    result.ref = {nullptr, 0};
    berth_outcome changed = *outcome;
    changed.result = &result;
    Twin::op_complete(op, &changed);
  }
};

// Makes the sandbox, and then says that it could not.
struct MakesAndDenies : Twin {
  std::set<berth_op> denied;
  virtual bool denies(berth_op op, berth_str name, const berth_create_spec& spec) = 0;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    if (denies(op, name, *spec)) denied.insert(op);
    Twin::create(op, name, spec);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (denied.erase(op) == 0 || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    ended(op, BERTH_FAILED_CLEAN, BERTH_CODE_TIMEOUT, "it could not be made; try again");
  }
};

struct DeniesOddImages : MakesAndDenies {
  bool denies(berth_op, berth_str, const berth_create_spec& spec) override { return spec.image.len != 0; }
};

// Denies what came too late, and takes it away when it shuts down: whoever asks until then finds it.
struct DeniesLateOnes : MakesAndDenies {
  static constexpr berth_op kOwn = ~0ull;
  std::set<std::string> late;
  bool denies(berth_op op, berth_str name, const berth_create_spec&) override {
    if (host().op_deadline(host().ctx, op) > host().now(host().ctx)) return false;
    late.insert(text(name));
    return true;
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (op != kOwn) MakesAndDenies::op_complete(op, outcome);
  }
  void shutdown(berth_op op) override {
    for (const std::string& name : late) inner().destroy(self(), kOwn, text(name), {});
    Twin::shutdown(op);
  }
};

}  // namespace

const Faults& out_faults() {
  static const Faults* const all = new Faults{
      {"OUT-001", &make<UnknownClass>},    {"OUT-002", &make<UnknownCode>},    {"OUT-003", &make<NoClass>},
      {"OUT-004", &make<HalfResult>},      {"OUT-005", &make<UnknownPresence>}, {"OUT-006", &make<NoReference>},
      {"OUT-007", &make<DeniesOddImages>}, {"OUT-008", &make<DeniesLateOnes>},
  };
  return *all;
}

}  // namespace berth::broken
