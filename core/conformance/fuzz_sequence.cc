#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/conformance/fuzz.h"

namespace berth::conformance {
namespace {

// What the answers so far leave possible under a name.
enum class Life {
  kNone,     // nothing was ever made
  kPresent,  // DONE was said of its create
  kMaybe,    // nobody knows
  kGone,     // DONE was said of its destroy
  kFenced,   // ABSENT_FENCED was said
};
std::string_view to_string(Life life) {
  switch (life) {
    case Life::kNone: return "never made";
    case Life::kPresent: return "present";
    case Life::kMaybe: return "perhaps there";
    case Life::kGone: return "destroyed";
    case Life::kFenced: return "fenced";
  }
  return "";
}

struct Known {
  Life life = Life::kNone;
  std::string ref;
  std::map<std::string, std::string> files;
};

class Sequence {
 public:
  explicit Sequence(Lab& lab) : lab_(lab) {}

  Status run() {
    for (int i = 0; i < kNames; ++i) names_.push_back(lab_.new_name());
    for (const std::string& name : names_) known_[name];
    for (int step = 0; step < kFuzzOperations; ++step) BERTH_CHECK_OK(one_step());
    return end();
  }

 private:
  static constexpr int kNames = 5;

  std::uint64_t draw(std::uint64_t below) { return lab_.random()() % below; }
  const std::string& any_name() { return names_[draw(names_.size())]; }

  void did(std::string_view what, const std::string& name, const Outcome& outcome) {
    lab_.note(fmt::format("{} {} -> {} ({})", what, name.substr(0, 12), berth::to_string(outcome.outcome_class),
                          berth::to_string(outcome.code)));
  }
  Status contradiction(std::string_view what, const std::string& name, const Known& known) {
    return violated(fmt::format("{} of a name that is {}: {}", what, to_string(known.life), name));
  }

  Status one_step() {
    switch (draw(10)) {
      case 0:
      case 1:
      case 2: return create();
      case 3: return cancelled_create();
      case 4: return lookup();
      case 5: return destroy();
      case 6: return fence();
      case 7: return put_file();
      case 8: return get_file();
      default: return list();
    }
  }

  void take_create(Known& known, const Outcome& outcome, const std::string& ref) {
    switch (outcome.outcome_class) {
      case OutcomeClass::kDone:
        if (known.life != Life::kPresent && known.life != Life::kMaybe) known.files.clear();
        known.life = Life::kPresent;
        known.ref = ref;
        break;
      case OutcomeClass::kRejected:
      case OutcomeClass::kFailedClean: break;  // as before
      default:
        if (known.life != Life::kPresent) known.life = Life::kMaybe;
    }
  }

  Status create() {
    const std::string& name = any_name();
    Known& known = known_[name];
    const Answer<Created> made = lab_.create(name);
    did("create", name, made.outcome);
    if (made.outcome.done() && known.life == Life::kFenced)
      return contradiction("create is DONE", name, known);
    if (made.outcome.done() && known.life == Life::kPresent && made.value.ref != known.ref)
      return contradiction("create answers with another reference", name, known);
    take_create(known, made.outcome, made.value.ref);
    return {};
  }

  Status cancelled_create() {
    const std::string& name = any_name();
    Known& known = known_[name];
    plugin::Request request;
    request.slot = plugin::Slot::kCreate;
    CreateSpec spec = Lab::plain_spec();
    spec.owner_tag = lab_.owner_tag();
    request.arguments = plugin::CreateCall{name, std::move(spec)};
    const plugin::OpId op = lab_.bench().start(std::move(request));
    lab_.bench().cancel(op);
    if (!lab_.bench().wait(op, lab_.patience())) return violated("a cancelled create never completes");
    const Record record = lab_.bench().record(op);
    did("cancelled create", name, record.reply.outcome);
    if (record.reply.outcome.done() && known.life == Life::kFenced)
      return contradiction("create is DONE", name, known);
    const auto* made = std::get_if<Created>(&record.reply.value);
    take_create(known, record.reply.outcome, made != nullptr ? made->ref : std::string());
    return {};
  }

  Status lookup() {
    const std::string& name = any_name();
    Known& known = known_[name];
    const Answer<Found> found = lab_.lookup(name);
    did("lookup", name, found.outcome);
    if (!found.outcome.done()) return {};
    const bool present = found.value.presence == Presence::kPresent;
    const bool absent = found.value.presence == Presence::kAbsentNow;
    if (present && known.life != Life::kPresent && known.life != Life::kMaybe)
      return contradiction("lookup is PRESENT", name, known);
    if (absent && known.life == Life::kPresent) return contradiction("lookup is ABSENT_NOW", name, known);
    if (present) {
      known.life = Life::kPresent;
      known.ref = found.value.ref;
    }
    return {};
  }

  Status destroy() {
    const std::string& name = any_name();
    Known& known = known_[name];
    const Answer<Destroyed> gone = lab_.destroy(name);
    did("destroy", name, gone.outcome);
    if (gone.outcome.done() && known.life != Life::kFenced) known.life = Life::kGone;
    if (!gone.outcome.done() && known.life == Life::kPresent) known.life = Life::kMaybe;
    return {};
  }

  Status fence() {
    if (lab_.manifest().recovery != Recovery::kFence) return {};
    const std::string& name = any_name();
    Known& known = known_[name];
    const Answer<Found> found = lab_.fence(name);
    did("fence", name, found.outcome);
    if (!found.outcome.done()) return {};
    const bool fenced = found.value.presence == Presence::kAbsentFenced;
    if (fenced && known.life == Life::kPresent) return contradiction("fence is ABSENT_FENCED", name, known);
    if (found.value.presence == Presence::kPresent && known.life != Life::kPresent && known.life != Life::kMaybe)
      return contradiction("fence is PRESENT", name, known);
    if (fenced) known.life = Life::kFenced;
    return {};
  }

  Status put_file() {
    const std::string& name = any_name();
    Known& known = known_[name];
    if (known.life != Life::kPresent) return {};
    const std::string path = fmt::format("/tmp/kit/{}", draw(3));
    std::string bytes(draw(100'000), static_cast<char>('a' + draw(26)));
    const Answer<Nothing> put = lab_.put_file(known.ref, {path, 0644, bytes.size()}, bytes);
    did("put_file", name, put.outcome);
    if (!put.outcome.done()) return violated(describe("put_file into a sandbox that is present", put.outcome));
    known.files[path] = std::move(bytes);
    return {};
  }

  Status get_file() {
    const std::string& name = any_name();
    Known& known = known_[name];
    if (known.life != Life::kPresent) return {};
    const std::string path = fmt::format("/tmp/kit/{}", draw(3));
    const Lab::Got got = lab_.get_file(known.ref, {path, 1 << 20});
    did("get_file", name, got.outcome);
    const auto expected = known.files.find(path);
    if (expected == known.files.end()) {
      if (got.outcome.done()) return violated("get_file finds a file that nobody put");
      return {};
    }
    if (!got.outcome.done()) return violated(describe("get_file of a file that was put", got.outcome));
    if (got.bytes != expected->second) return violated("get_file gives other bytes than were put");
    return {};
  }

  Status list() {
    const auto listed = lab_.list_owned(lab_.owner_tag());
    did("list_owned", "", listed.outcome);
    if (!listed.outcome.done()) return {};
    std::map<std::string, int> times;
    for (const Listed& item : listed.value) ++times[item.name];
    for (const auto& [name, count] : times) {
      const auto known = known_.find(name);
      if (known == known_.end()) return violated("list_owned has a name nobody asked for: " + name);
      if (count != 1) return violated(fmt::format("list_owned has one name {} times", count));
      if (known->second.life != Life::kPresent && known->second.life != Life::kMaybe)
        return contradiction("list_owned has a sandbox", name, known->second);
    }
    for (const auto& [name, known] : known_)
      if (known.life == Life::kPresent && !times.contains(name))
        return contradiction("list_owned lacks the sandbox", name, known);
    return {};
  }

  // All of it can be ended by name, and then nothing is left.
  Status end() {
    for (const std::string& name : names_) BERTH_CHECK_OK(lab_.gone(name));
    const auto listed = lab_.list_owned(lab_.owner_tag());
    if (!listed.outcome.done()) return violated(describe("list_owned", listed.outcome));
    if (!listed.value.empty()) return violated("after every name was destroyed a sandbox still carries the tag");
    const auto violations = lab_.bench().violations();
    if (violations.empty()) return {};
    return violated(fmt::format("[{}] {}", violations.front().clause, violations.front().text));
  }

  Lab& lab_;
  std::vector<std::string> names_;
  std::map<std::string, Known> known_;
};

}  // namespace

Status fuzz_sequence(Lab& lab) {
  BERTH_CHECK_OK(lab.open());
  return Sequence(lab).run();
}

}  // namespace berth::conformance
