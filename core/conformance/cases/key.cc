// KEY: a name is the key to one sandbox.
#include "core/conformance/lab.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/registry/lifetime_step.h"

namespace berth::conformance {
namespace {

std::size_t count_of(const std::vector<Listed>& items, const std::string& name) {
  std::size_t count = 0;
  for (const Listed& item : items) count += item.name == name ? 1 : 0;
  return count;
}

Status same_name_same_sandbox(Lab& lab) {
  const std::string name = lab.new_name();
  BERTH_TRY(const Created first, lab.made(name));
  BERTH_TRY(const Created second, lab.made(name));
  if (first.ref != second.ref)
    return violated(fmt::format("two creates of one name gave the references {} and {}", first.ref,
                                second.ref));
  const auto listed = lab.list_owned(lab.owner_tag());
  if (!listed.outcome.done()) return violated(describe("list_owned", listed.outcome));
  if (listed.value.size() != 1)
    return violated(fmt::format("after two creates of one name {} sandboxes carry the tag, {} of "
                                "them under that name", listed.value.size(),
                                count_of(listed.value, name)));
  return lab.gone(name);
}

// Two, for one of several is what is most easily forgotten.
Status name_is_on_the_resource(Lab& lab) {
  BERTH_TRY(const Created first, lab.sandbox());
  BERTH_TRY(const Created second, lab.sandbox());
  BERTH_TRY(const auto fresh, lab.fresh());
  const auto listed = fresh->list_owned(lab.owner_tag());
  if (!listed.outcome.done()) return violated(describe("list_owned in a fresh process", listed.outcome));
  for (const Created& made : {first, second})
    for (const Listed& item : listed.value)
      if (item.ref == made.ref && item.name != made.name)
        return violated(fmt::format("a fresh process is told that {} has the name \"{}\"", item.ref, item.name));
  for (const Created& made : {first, second})
    if (count_of(listed.value, made.name) != 1)
      return violated(fmt::format("a fresh process finds the name of a sandbox {} times in the list",
                                  count_of(listed.value, made.name)));
  fresh->close();
  BERTH_CHECK_OK(lab.gone(first.name));
  return lab.gone(second.name);
}

// What an echo would not know: which sandbox it is that has the name.
Status create_answers_what_was_recorded(Lab& lab) {
  const std::string name = lab.new_name();
  BERTH_TRY(const Created first, lab.made(name));
  BERTH_TRY(const Found found, lab.looked_up(name));
  CreateSpec other = Lab::plain_spec();
  other.env = {{"KIT_OTHER", "1"}};
  for (int round = 0; round < 3; ++round) {
    BERTH_TRY(const Created again, lab.made(name, other));
    if (again.name != found.name || again.name != name)
      return violated(fmt::format("lookup says the name is \"{}\", and create answers with \"{}\"", found.name,
                                  again.name));
    if (again.ref != found.ref || first.ref != found.ref)
      return violated(fmt::format("lookup says the reference is \"{}\", and create answers with \"{}\"",
                                  found.ref, again.ref));
    if (again.scope != found.scope) return violated("create and lookup tell of different scopes");
  }
  return lab.gone(name);
}

Status lookup_needs_only_the_name(Lab& lab) {
  BERTH_TRY(const Created first, lab.sandbox());
  BERTH_TRY(const Created second, lab.sandbox());
  BERTH_TRY(const auto fresh, lab.fresh());
  for (const Created& made : {first, second}) {
    const Answer<Found> found = fresh->lookup(made.name);
    if (!found.outcome.done()) return violated(describe("lookup in a fresh process", found.outcome));
    if (found.value.presence != Presence::kPresent)
      return violated("a fresh process does not find a sandbox that exists");
    if (found.value.ref != made.ref)
      return violated(fmt::format("create answered with {}, a fresh process finds {}", made.ref, found.value.ref));
  }
  const Answer<Found> other = fresh->lookup(lab.new_name());
  if (other.outcome.done() && other.value.presence == Presence::kPresent)
    return violated("lookup finds a sandbox that nobody made");
  fresh->close();
  BERTH_CHECK_OK(lab.gone(first.name));
  return lab.gone(second.name);
}

// A lookup that has no time cannot have asked, unless the answer was there all along.
Status not_finding_out_is_not_absent(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  for (const int ms : {0, 1, 5}) {
    Treatment treatment;
    treatment.deadline = std::chrono::milliseconds(ms);
    const plugin::OpId op = lab.begin(plugin::Slot::kLookup, plugin::NameCall{made.name}, treatment);
    if (!lab.bench().wait(op, lab.patience())) continue;  // what never comes is no wrong answer
    const Record record = lab.bench().record(op);
    const auto* found = std::get_if<Found>(&record.reply.value);
    if (found != nullptr && found->presence == Presence::kAbsentNow)
      return violated(fmt::format("a lookup with a deadline of {} ms says that a sandbox is absent which exists", ms));
  }
  return lab.gone(made.name);
}

Status used_up_name_makes_nothing(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_CHECK_OK(lab.gone(made.name));
  const Answer<Created> again = lab.create(made.name);
  if (again.outcome.done()) return violated("create of a name that was destroyed is DONE");
  BERTH_TRY(const Found found, lab.looked_up(made.name));
  if (found.presence == Presence::kPresent || found.presence == Presence::kInProgress)
    return violated("create of a name that was destroyed made a sandbox");
  return lab.gone(made.name);
}

constexpr std::chrono::seconds kLifetime{2};

// What is asked for: as short as the service can count.
std::chrono::seconds lifetime_of(const registry::Manifest& manifest) {
  return std::max(kLifetime, registry::lifetime_step(manifest));
}

// Nothing of it runs any more; its name may wait for whoever destroys it.
bool is_over(const Found& found) {
  return found.presence == Presence::kAbsentNow ||
         (found.presence == Presence::kPresent && found.state == SandboxState::kStopped);
}

Status ends_by_itself(Lab& lab, const std::string& name, std::string_view whose) {
  const auto lifetime = lifetime_of(lab.manifest());
  bool asked = false;
  const bool ended = lab.bench().wait_until(lifetime + lab.patience(), [&] {
    lab.bench().wait_until(std::chrono::milliseconds(100), [] { return false; });
    const Answer<Found> found = lab.lookup(name);
    asked = asked || found.outcome.done();
    return found.outcome.done() && is_over(found.value);
  });
  if (!asked) return violated("lookup did not answer");
  if (!ended)
    return violated(fmt::format("a sandbox with a lifetime of {} s, made by {}, does not end", lifetime.count(),
                                whose));
  return {};
}

Status lifetime_ends_it(Lab& lab) {
  CreateSpec spec = Lab::plain_spec();
  spec.lifetime = lifetime_of(lab.manifest());
  spec.owner_tag = lab.owner_tag();
  const std::string orphan = lab.new_name();
  lab.remember(orphan);
  {
    BERTH_TRY(const auto fresh, lab.fresh());
    const Answer<Created> made = fresh->create(orphan, spec);
    if (!made.outcome.done()) return violated(describe("create in a fresh process", made.outcome));
    fresh->kill();
  }
  BERTH_TRY(const Created own, lab.made(lab.new_name(), spec));
  BERTH_CHECK_OK(ends_by_itself(lab, own.name, "this process"));
  BERTH_CHECK_OK(ends_by_itself(lab, orphan, "a process that was killed"));
  BERTH_CHECK_OK(lab.gone(own.name));
  return lab.gone(orphan);
}

constexpr Case kKeyCases[] = {
    {"KEY-001", "the-same-name-is-the-same-sandbox", "KEY-001", Profile::kSmoke, Start::kOpen,
     "Creates one name twice and expects one reference and one resource",
     &same_name_same_sandbox},
    {"KEY-002", "the-name-is-on-the-resource", "KEY-002", Profile::kSmoke, Start::kOpen,
     "Makes two sandboxes, and lets a fresh process list them by name", &name_is_on_the_resource},
    {"KEY-003", "create-answers-what-was-recorded", "KEY-003", Profile::kSmoke, Start::kOpen,
     "Creates one name again and again, asking for something else, and compares the answers with lookup's",
     &create_answers_what_was_recorded},
    {"KEY-004", "lookup-needs-only-the-name", "KEY-004", Profile::kSmoke, Start::kOpen,
     "Makes two sandboxes, and lets a fresh process look both up, and one that is none",
     &lookup_needs_only_the_name},
    {"KEY-101", "not-finding-out-is-not-absent", "KEY-004", Profile::kSmoke, Start::kOpen,
     "Looks a sandbox up that exists, without time to find out, and expects anything but absent",
     &not_finding_out_is_not_absent},
    {"KEY-005", "a-used-up-name-makes-nothing", "KEY-005", Profile::kSmoke, Start::kOpen,
     "Makes and destroys a sandbox, creates its name again and expects a refusal and nothing made",
     &used_up_name_makes_nothing},
    {"KEY-006", "a-lifetime-ends-it", "KEY-006", Profile::kFull, Start::kOpen,
     "Makes sandboxes with the shortest lifetime from two seconds on, one by a process that is killed, and expects "
     "both to end",
     &lifetime_ends_it},
};

}  // namespace

CaseList key_cases() { return kKeyCases; }

}  // namespace berth::conformance
