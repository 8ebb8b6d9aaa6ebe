#include "tests/support/model_provider.h"

#include <utility>

namespace berth::testing {
namespace {

// A reference names its sandbox, so that operations by reference can be followed.
std::string ref_of(const std::string& name) { return "ref/" + name; }
std::string name_of(const std::string& ref) { return ref.size() > 4 ? ref.substr(4) : ref; }

template <class T>
Answer<T> lost(OutcomeCode code) {
  return {Outcome::make(OutcomeClass::kUncertain, code, "no answer"), T{}};
}

template <class T>
std::string ref_in(const Answer<T>&) {
  return {};
}
std::string ref_in(const Answer<Created>& answer) { return answer.value.ref; }

}  // namespace

bool Cloud::alive(const std::string& name) const {
  const auto found = resources.find(name);
  return found != resources.end() && found->second.alive;
}

bool Cloud::may_exist(const std::string& name) const {
  return alive(name) || (creating.contains(name) && !fenced.contains(name));
}

void Cloud::make(const std::string& name, const Scope& scope) {
  resources[name] = {true, scope};
  log.push_back("create " + name);
}

void Cloud::finish_late(const std::string& name) {
  const auto late = creating.find(name);
  if (late == creating.end()) return;
  const Scope scope = late->second;
  creating.erase(late);
  if (!fenced.contains(name)) make(name, scope);
}

ModelProvider::ModelProvider(World& world, int host, Cloud& cloud, Scope scope)
    : world_(world), host_(host), cloud_(cloud), scope_(std::move(scope)) {
  identity_.id = "model";
  identity_.version = "1.0.0";
  identity_.digest = std::string(64, 'a');
  identity_.recovery = Recovery::kFence;
}

void ModelProvider::on_late_answer(std::function<void(LateAnswer)> listener) {
  late_ = std::move(listener);
}

template <class T>
Task<Answer<T>> ModelProvider::operate(OperationContext context, Slot slot, std::string name,
                                       std::function<Answer<T>(OpFault)> effect) {
  struct State {
    std::optional<Answer<T>> answer;
    std::shared_ptr<bool> waiting = std::make_shared<bool>(true);
    Signal done;
    void end(Answer<T> with) {
      if (answer) return;
      answer = std::move(with);
      *waiting = false;
      done.notify();
    }
  };
  if (on_ask) on_ask(slot, name);
  auto state = std::make_shared<State>();
  const auto tell_late = [this, slot, name](const Answer<T>& answer) {
    if (late_) late_({std::string(to_string(slot)), name, answer.outcome, ref_in(answer)});
  };
  world_.post(host_, [this, state, slot, name, tell_late, effect = std::move(effect)] {
    if (on_effect) on_effect(slot, name);
    const OpFault chosen = fault ? fault(slot, name) : OpFault::kNone;
    Answer<T> answer = effect(chosen);
    if (state->answer) return tell_late(answer);
    switch (chosen) {
      case OpFault::kHang:
        return;
      case OpFault::kLostDone:
      case OpFault::kLostNotDone:
      case OpFault::kLate:
        state->end(lost<T>(OutcomeCode::kHostWorkerDied));
        if (chosen == OpFault::kLostDone)
          world_.post(host_, [tell_late, answer] { tell_late(answer); });
        return;
      case OpFault::kDuplicate:
        world_.post(host_, [tell_late, answer] { tell_late(answer); });
        return state->end(std::move(answer));
      case OpFault::kNone:
      case OpFault::kRejected:
      case OpFault::kFailedClean:
      case OpFault::kFailedDirty:
      case OpFault::kUnset:
      case OpFault::kWrongScope:
      case OpFault::kWrongName:
        return state->end(std::move(answer));
    }
  });
  world_.at(context.deadline, host_, state->waiting,
            [state] { state->end(lost<T>(OutcomeCode::kHostDeadline)); });
  Cancellation::Subscription subscription;
  if (Cancellation* const cancellation = context.cancellation; cancellation != nullptr)
    subscription = cancellation->subscribe([state, cancellation] {
      if (cancellation->level() == Cancellation::Level::kAbandoned)
        state->end(lost<T>(OutcomeCode::kHostDetached));
    });
  while (!state->answer) co_await state->done.wait();
  co_return std::move(*state->answer);
}

namespace {

// The outcome that a fault makes of an operation.
Outcome outcome_of(OpFault fault) {
  switch (fault) {
    case OpFault::kRejected:
      return Outcome::make(OutcomeClass::kRejected, OutcomeCode::kQuota, "quota is used up");
    case OpFault::kFailedClean:
      return Outcome::make(OutcomeClass::kFailedClean, OutcomeCode::kUnavailable, "undone");
    case OpFault::kFailedDirty:
      return Outcome::make(OutcomeClass::kFailedDirty, OutcomeCode::kInternal, "something is left");
    case OpFault::kUnset:
      return Outcome{};
    case OpFault::kNone:
    case OpFault::kLostDone:
    case OpFault::kLostNotDone:
    case OpFault::kLate:
    case OpFault::kHang:
    case OpFault::kWrongScope:
    case OpFault::kWrongName:
    case OpFault::kDuplicate:
      break;
  }
  return Outcome::make_done();
}

bool takes_effect(OpFault fault) {
  return fault != OpFault::kRejected && fault != OpFault::kFailedClean &&
         fault != OpFault::kLostNotDone && fault != OpFault::kLate;
}

}  // namespace

Task<Answer<ProbeReport>> ModelProvider::probe(OperationContext) {
  co_return Answer<ProbeReport>{Outcome::make_done(), {}};
}

Task<Answer<Scope>> ModelProvider::scope(OperationContext context) {
  return operate<Scope>(std::move(context), Slot::kScope, {}, [this](OpFault chosen) {
    return Answer<Scope>{outcome_of(chosen), scope_};
  });
}

Answer<Created> ModelProvider::made(const std::string& name, OpFault chosen) {
  Answer<Created> answer{outcome_of(chosen), {name, ref_of(name), scope_}};
  cloud_.creates_asked[name] += 1;
  if (cloud_.fenced.contains(name)) {
    answer.outcome = Outcome::make(OutcomeClass::kRejected, OutcomeCode::kConflict, "fenced");
    return answer;
  }
  if (chosen == OpFault::kLate) cloud_.creating[name] = scope_;
  if (chosen == OpFault::kWrongScope && !answer.value.scope.empty())
    answer.value.scope.front().second += "-other";
  if (chosen == OpFault::kWrongName) answer.value.name += "-other";
  if (!takes_effect(chosen)) return answer;
  // What is made in another scope is out of this scope's sight.
  cloud_.make(chosen == OpFault::kWrongScope ? name + "-elsewhere" : answer.value.name,
              answer.value.scope);
  return answer;
}

Task<Answer<Created>> ModelProvider::create(OperationContext context, std::string name,
                                            CreateSpec spec) {
  (void)spec;
  return operate<Created>(std::move(context), Slot::kCreate, name,
                          [this, name](OpFault chosen) { return made(name, chosen); });
}

Task<Answer<Found>> ModelProvider::lookup(OperationContext context, std::string name) {
  return operate<Found>(std::move(context), Slot::kLookup, name, [this, name](OpFault chosen) {
    Answer<Found> answer{outcome_of(chosen), {}};
    answer.value.presence = cloud_.creating.contains(name) && (cloud_.log.size() % 2 == 0)
                                ? Presence::kInProgress
                                : Presence::kAbsentNow;
    if (cloud_.fenced.contains(name)) answer.value.presence = Presence::kAbsentFenced;
    const bool lies = chosen == OpFault::kWrongName || chosen == OpFault::kWrongScope;
    if (cloud_.alive(name) || lies) {
      answer.value.presence = Presence::kPresent;
      answer.value.name = chosen == OpFault::kWrongName ? name + "-other" : name;
      answer.value.ref = ref_of(name);
      answer.value.scope = scope_;
      if (chosen == OpFault::kWrongScope && !scope_.empty())
        answer.value.scope.front().second += "-other";
    }
    return answer;
  });
}

Task<Answer<Found>> ModelProvider::fence(OperationContext context, std::string name) {
  return operate<Found>(std::move(context), Slot::kFence, name, [this, name](OpFault chosen) {
    Answer<Found> answer{outcome_of(chosen), {}};
    if (cloud_.alive(name)) {
      answer.value = {Presence::kPresent, SandboxState::kReady,         name,
                      ref_of(name),       cloud_.resources[name].scope, std::nullopt};
    } else if (takes_effect(chosen)) {
      cloud_.fenced.insert(name);
      answer.value.presence = Presence::kAbsentFenced;
    }
    return answer;
  });
}

Task<Answer<RunEnd>> ModelProvider::run(OperationContext context, std::string ref, Command command,
                                        OutputSink& output) {
  (void)command;
  (void)output;
  return operate<RunEnd>(std::move(context), Slot::kRun, name_of(ref), [](OpFault chosen) {
    Answer<RunEnd> answer{outcome_of(chosen), {}};
    answer.value.cause = Cause::kExited;
    answer.value.exit_code = 0;
    return answer;
  });
}

Task<Answer<Nothing>> ModelProvider::put_file(OperationContext context, std::string ref,
                                              PutFile file, InputSource& input) {
  (void)file;
  (void)input;
  return operate<Nothing>(std::move(context), Slot::kPutFile, name_of(ref), [](OpFault chosen) {
    return Answer<Nothing>{outcome_of(chosen), {}};
  });
}

Task<Answer<FileGot>> ModelProvider::get_file(OperationContext context, std::string ref,
                                              GetFile file, OutputSink& output) {
  (void)file;
  (void)output;
  return operate<FileGot>(std::move(context), Slot::kGetFile, name_of(ref), [](OpFault chosen) {
    return Answer<FileGot>{outcome_of(chosen), {}};
  });
}

Task<Answer<Destroyed>> ModelProvider::destroy(OperationContext context, std::string name,
                                               std::string ref) {
  (void)ref;
  // Ends with the host's coroutine, however that ends.
  struct InFlightDelete {
    explicit InFlightDelete(int& counter) : count(counter) { count += 1; }
    ~InFlightDelete() { count -= 1; }
    InFlightDelete(const InFlightDelete&) = delete;
    InFlightDelete& operator=(const InFlightDelete&) = delete;
    int& count;
  };
  const InFlightDelete in_flight(cloud_.deletes_in_flight[name]);
  // Named: the compiler destroys a closure twice that is a temporary of a co_await expression.
  std::function<Answer<Destroyed>(OpFault)> effect = [this, name](OpFault chosen) {
    const bool gone = takes_effect(chosen) && chosen != OpFault::kFailedDirty;
    if (gone && cloud_.alive(name)) {
      cloud_.resources[name].alive = false;
      cloud_.log.push_back("delete " + name);
    }
    return Answer<Destroyed>{outcome_of(chosen), {}};
  };
  co_return co_await operate<Destroyed>(std::move(context), Slot::kDestroy, name,
                                        std::move(effect));
}

Task<Answer<std::vector<Listed>>> ModelProvider::list_owned(OperationContext context,
                                                            std::string owner_tag) {
  (void)owner_tag;
  return operate<std::vector<Listed>>(std::move(context), Slot::kList, {}, [this](OpFault chosen) {
    Answer<std::vector<Listed>> answer{outcome_of(chosen), {}};
    for (const auto& [name, resource] : cloud_.resources) {
      if (resource.alive)
        answer.value.push_back({name, ref_of(name), {}, SandboxState::kReady, {}});
    }
    answer.value.insert(answer.value.end(), cloud_.unnamed.begin(), cloud_.unnamed.end());
    return answer;
  });
}

std::string_view to_string(Slot slot) {
  switch (slot) {
    case Slot::kScope:
      return "scope";
    case Slot::kCreate:
      return "create";
    case Slot::kLookup:
      return "lookup";
    case Slot::kFence:
      return "fence";
    case Slot::kRun:
      return "run";
    case Slot::kPutFile:
      return "put_file";
    case Slot::kGetFile:
      return "get_file";
    case Slot::kDestroy:
      return "destroy";
    case Slot::kList:
      return "list_owned";
  }
  return "";
}

std::string_view to_string(OpFault fault) {
  switch (fault) {
    case OpFault::kNone:
      return "none";
    case OpFault::kRejected:
      return "rejected";
    case OpFault::kFailedClean:
      return "failed_clean";
    case OpFault::kFailedDirty:
      return "failed_dirty";
    case OpFault::kLostDone:
      return "lost_done";
    case OpFault::kLostNotDone:
      return "lost_not_done";
    case OpFault::kLate:
      return "late";
    case OpFault::kUnset:
      return "unset";
    case OpFault::kHang:
      return "hang";
    case OpFault::kWrongScope:
      return "wrong_scope";
    case OpFault::kWrongName:
      return "wrong_name";
    case OpFault::kDuplicate:
      return "duplicate";
  }
  return "";
}

}  // namespace berth::testing
