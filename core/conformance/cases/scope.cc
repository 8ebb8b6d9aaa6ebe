// OPEN and SCOPE: becoming usable, and where sandboxes live.
#include <fmt/format.h>

#include <algorithm>

#include "core/conformance/exercise.h"
#include "core/conformance/process_state.h"

namespace berth::conformance {
namespace {

// ---- OPEN

Status nothing_before_open(Lab& lab) {
  const auto descriptors = open_descriptors();
  const auto running = threads();
  const Answer<Found> early = lab.lookup(lab.new_name());
  if (early.outcome.outcome_class != OutcomeClass::kRejected)
    return violated(describe("a lookup before open", early.outcome));
  const std::string name = lab.new_name();
  const Answer<Created> made = lab.create(name);
  if (made.outcome.outcome_class != OutcomeClass::kRejected)
    return violated(describe("a create before open", made.outcome));
  if (threads().size() > running.size()) return violated("a thread was started before open");
  if (open_descriptors().size() > descriptors.size())
    return violated("a descriptor was opened before open");
  BERTH_CHECK_OK(lab.open());
  BERTH_TRY(const Found found, lab.looked_up(name));
  if (found.presence == Presence::kPresent)
    return violated("a create before open was REJECTED and made a sandbox");
  lab.forget(name);
  return {};
}

// Nothing can be kept in a folder that cannot be made.
constexpr char kNoFolder[] = "/proc/self/berth-kit/none";

Status open_can_be_tried_again(Lab& lab) {
  const auto descriptors = open_descriptors();
  const auto below = children();
  plugin::Request request;
  request.slot = plugin::Slot::kOpen;
  request.arguments = plugin::OpenSpec{lab.subject().request.config_json, kNoFolder, lab.owner_tag()};
  const plugin::OpId op = lab.bench().start(std::move(request));
  if (!lab.bench().wait(op, lab.patience())) return violated("open was not completed");
  if (lab.bench().record(op).reply.outcome.done()) {
    BERTH_CHECK_OK(lab.opened_by_hand());
    return lacking("this provider opens without a state folder, so no open was made to fail");
  }
  const auto holds = [&] { return children().size() <= below.size() && open_descriptors().size() <= descriptors.size(); };
  if (!lab.bench().wait_until(lab.scaled(std::chrono::seconds(2)), holds))
    return violated("an open that is not DONE left a descriptor or a process behind");
  BERTH_CHECK_OK(lab.open());
  const Answer<ProbeReport> probed = lab.probe();
  if (!probed.outcome.done()) return violated(describe("probe after a second open", probed.outcome));
  return {};
}

Status schema_is_the_whole_truth(Lab& lab) {
  // What the schema allows is never refused as invalid: the smallest configuration it allows.
  registry::ProviderConfiguration nothing;
  const auto config = registry::open_configuration(lab.manifest(), nothing);
  if (!config) return lacking("its schema requires values, so only the given configuration can be tried");
  plugin::Request request;
  request.slot = plugin::Slot::kOpen;
  request.arguments = plugin::OpenSpec{*config, lab.subject().state_dir().string(), lab.owner_tag()};
  const plugin::OpId op = lab.bench().start(std::move(request));
  if (!lab.bench().wait(op, lab.patience())) return violated("open was not completed");
  const Outcome outcome = lab.bench().record(op).reply.outcome;
  if (outcome.code == OutcomeCode::kInvalidArgument)
    return violated(describe("open with a configuration that its schema allows", outcome));
  if (outcome.done()) return lab.opened_by_hand();
  return {};
}

// ---- SCOPE

// What a scope is made of may be declared beside the key: who, by the whole value of a variable named so. An address is
// no such thing: it may carry a password.
bool tells_who(std::string_view variable, std::string_view value, std::string_view field) {
  return variable.ends_with("_ID") && field == value;
}

Status has_the_declared_fields(Lab& lab) {
  for (int round = 0; round < 4; ++round) {
    const Answer<Scope> scope = lab.scope();
    if (!scope.outcome.done()) return violated(describe("scope", scope.outcome));
    std::vector<std::string> fields;
    for (const auto& [field, value] : scope.value) {
      fields.push_back(field);
      for (const auto& [variable, secret] : lab.secrets())
        if (value.find(secret) != std::string::npos && !tells_who(variable, secret, value))
          return violated(fmt::format("the scope's {} contains the value of {}", field, variable));
    }
    if (fields != lab.manifest().scope_fields)
      return violated("the scope does not have the fields of the manifest's scopeFields in their order");
  }
  return {};
}

Status stays_the_same(Lab& lab) {
  const Answer<Scope> before = lab.scope();
  if (!before.outcome.done()) return violated(describe("scope", before.outcome));
  BERTH_TRY(const Created made, lab.sandbox());
  const Answer<Scope> after = lab.scope();
  if (!after.outcome.done()) return violated(describe("scope", after.outcome));
  if (before.value != after.value)
    return violated("the scope after a create is not the one before it");
  BERTH_TRY(const auto fresh, lab.fresh());
  if (fresh->scope() != before.value)
    return violated("the scope in another process is not the one in this");
  fresh->close();
  return lab.gone(made.name);
}

Status lookup_tells_the_scope(Lab& lab) {
  const Answer<Scope> scope = lab.scope();
  if (!scope.outcome.done()) return violated(describe("scope", scope.outcome));
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const Found found, lab.looked_up(made.name));
  if (found.presence != Presence::kPresent) return violated("lookup does not find a new sandbox");
  if (found.scope != scope.value)
    return violated("lookup reports another scope than the one the sandbox was made in");
  return lab.gone(made.name);
}

constexpr Case kScopeCases[] = {
    {"OPEN-001", "nothing-happens-before-open", "OPEN-001", Profile::kSmoke, Start::kLoaded,
     "Calls lookup and create before open and expects REJECTED, no thread, no descriptor and no sandbox",
     &nothing_before_open},
    {"OPEN-002", "a-failed-open-can-be-repeated", "OPEN-002", Profile::kSmoke, Start::kLoaded,
     "Opens with a state folder that cannot be had, looks for what is left, and opens again as it should be",
     &open_can_be_tried_again},
    {"OPEN-003", "the-schema-is-the-whole-truth", "OPEN-003", Profile::kSmoke, Start::kLoaded,
     "Opens with the smallest configuration the schema allows, and expects anything but INVALID_ARGUMENT",
     &schema_is_the_whole_truth},
    {"SCOPE-001", "the-scope-has-its-fields", "SCOPE-001", Profile::kSmoke, Start::kOpen,
     "Compares the scope's fields with the manifest, and its values with every declared secret",
     &has_the_declared_fields},
    {"SCOPE-002", "the-scope-stays-the-same", "SCOPE-002", Profile::kSmoke, Start::kOpen,
     "Asks for the scope before a create, after it and in another process, and expects one answer",
     &stays_the_same},
    {"SCOPE-003", "lookup-tells-the-scope", "SCOPE-003", Profile::kFull, Start::kOpen,
     "Compares the scope that lookup reports for a new sandbox with the provider's", &lookup_tells_the_scope},
    {"SCOPE-004", "secrets-are-asked-by-declared-name", "SCOPE-004", Profile::kSmoke, Start::kOpen,
     "Goes through every slot and watches which variables are asked for", &exercise},
};

}  // namespace

CaseList scope_cases() { return kScopeCases; }

}  // namespace berth::conformance
