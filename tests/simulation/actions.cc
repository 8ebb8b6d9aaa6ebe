// What can happen in a history, and what its callers check.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/sha256.h"
#include "core/lifecycle/names.h"
#include "tests/simulation/delivery.h"

namespace berth::simulation {
namespace {

using testing::TestHost;

constexpr std::size_t kDeliveriesMax = 6;

const std::array<CallKey, 4> kCalls = {{{"alice", "morning", "call-1"},
                                        {"alice", "morning", "call-2"},
                                        {"alice", "evening", "call-1"},
                                        {"bob", "morning", "call-1"}}};
const std::array<std::string, 2> kSpecs = {"spec-a", "spec-b"};

class NoOutput : public OutputSink {
 public:
  Flow write(Stream, std::string_view) override { return Flow::kContinue; }
  void on_resume(std::function<void()>) override {}
};

class NoInput : public InputSource {
 public:
  State read(std::string&, std::size_t) override { return State::kEnd; }
  void on_ready(std::function<void()>) override {}
};

std::string document_of(const std::string& spec) { return "output of " + spec; }

const Intent* intent_of(const testing::MemoryRows& rows, const CallKey& key) {
  for (const auto& [name, intent] : rows.intents) {
    if (intent.key == key) return &intent;
  }
  return nullptr;
}

}  // namespace

// A host that journals every step of its own may have died in RUNNING.
void Simulation::seed_running_intent() {
  Intent intent;
  intent.key = {"carol", "morning", "call-1"};
  intent.scope = testing::model_scope("account-a");
  intent.name = *intent_name(intent.scope, intent.key);
  intent.turn = intent.key.call;
  intent.provider_id = "model";
  intent.spec_digest = sha256_hex(kSpecs[0]);
  intent.state = IntentState::kRunning;
  intent.dispatched = true;
  intent.ref = "ref/" + intent.name;
  intent.holder = {"boot", "host-gone", "lock-gone"};
  intent.revision = 3;
  rows_.order.push_back(intent.name);
  cloud_.make(intent.name, intent.scope);
  rows_.intents.emplace(intent.name, std::move(intent));
}

void Simulation::forget_host(int id) {
  for (const auto& delivery : deliveries_) delivery->over = delivery->over || delivery->host == id;
  std::erase_if(watched_, [id](const Watched& watched) { return watched.host == id; });
  std::erase_if(creates_under_way_, [id](const auto& create) { return create.second == id; });
}

void Simulation::deliver(bool cancelled_before) {
  TestHost* const host = any_living_host();
  if (host == nullptr || deliveries_.size() >= kDeliveriesMax) return;
  auto delivery = std::make_shared<Delivery>();
  delivery->key = kCalls[pick(kCalls.size())];
  delivery->spec = kSpecs[chance(85) ? 0 : 1];
  delivery->host = host->id();
  delivery->cancelled_before = cancelled_before;
  if (cancelled_before) delivery->cancellation.request(Cancellation::Reason::kCaller);
  SandboxRequest request;
  request.key = delivery->key;
  request.turn = chance(50) ? "turn" : "";
  request.spec_canonical = delivery->spec;
  request.cancellation = &delivery->cancellation;
  if (chance(10)) request.deadline = std::chrono::seconds(1 + pick(90));
  if (chance(25)) {
    request.prepare = [this, id = host->id(), fails = chance(20)]() -> Task<Status> {
      std::function<bool()> effect = [] { return true; };
      (void)co_await world_.perform<bool>(id, std::move(effect));
      if (fails) co_return fail(ErrorKind::kUnavailable, "no worker is free");
      co_return Status{};
    };
  }
  delivery->end = host->start(
      with_sandbox(host->services, std::move(request),
                   [this, delivery](Sandbox& sandbox) { return body(sandbox, delivery); }));
  deliveries_.push_back(std::move(delivery));
}

Task<BodyResult> Simulation::body(Sandbox& sandbox, std::shared_ptr<Delivery> delivery) {
  delivery->body_started = true;
  if (delivery->cancelled_in_time) invariants_.violate("source ran after the cancel");
  const Intent* const intent = intent_of(rows_, delivery->key);
  if (intent == nullptr || intent->state != IntentState::kCreated)
    invariants_.violate("the body started before the confirmation was committed");
  const std::string name = intent == nullptr ? std::string() : intent->name;
  BodyResult result;
  const std::size_t operations = 1 + pick(3);
  for (std::size_t i = 0; i < operations; ++i) {
    const Outcome outcome = co_await operate(sandbox);
    if (outcome.done()) continue;
    if (!delivery->cancellation.requested()) invariants_.tainted.insert(name);
    // A careless body goes on; it is refused.
    const Outcome second = co_await operate(sandbox);
    if (second.done()) invariants_.violate("a sandbox with a lost operation was used again");
    result.message = describe(outcome);
    co_return result;
  }
  if (chance(15)) {
    result.message = "the output is not valid";
    co_return result;
  }
  delivery->body_completed = true;
  invariants_.completed.insert(name);
  result.kind = BodyResult::Kind::kCompleted;
  result.document = document_of(delivery->spec);
  co_return result;
}

Task<Outcome> Simulation::operate(Sandbox& sandbox) {
  NoOutput output;
  NoInput input;
  switch (pick(3)) {
    case 0: {
      PutFile file;
      const Answer<Nothing> answer = co_await sandbox.put_file(std::move(file), input);
      co_return answer.outcome;
    }
    case 1: {
      GetFile file;
      const Answer<FileGot> answer = co_await sandbox.get_file(std::move(file), output);
      co_return answer.outcome;
    }
    default: {
      Command command;
      const Answer<RunEnd> answer = co_await sandbox.run(std::move(command), output);
      co_return answer.outcome;
    }
  }
}

void Simulation::cancel_some() {
  if (deliveries_.empty()) return;
  Delivery& delivery = *deliveries_[pick(deliveries_.size())];
  if (delivery.over || delivery.cancellation.requested()) return;
  delivery.cancelled_in_time = !delivery.body_started;
  delivery.cancellation.request(chance(90) ? Cancellation::Reason::kCaller
                                           : Cancellation::Reason::kShutdown);
}

void Simulation::start_reconcile(TestHost& host, ReconcileOptions options) {
  const std::string owner = options.owner;
  const auto end = host.start(reconcile(host.services, std::move(options)));
  watched_.push_back({host.id(), "a reconciliation", [this, owner, end] {
                        if (!end->has_value()) return false;
                        const Result<ReconcileReport>& report = **end;
                        if (!report || owner.empty()) return true;
                        for (const ReconciledIntent& intent : report->intents) {
                          if (intent.key.owner != owner)
                            invariants_.violate(
                                "an owner's reconciliation acted on another's intent");
                        }
                        return true;
                      }});
}

void Simulation::reconcile_some() {
  TestHost* const host = any_living_host();
  if (host == nullptr) return;
  ReconcileOptions options;
  if (chance(20)) options.owner = chance(50) ? "alice" : "bob";
  options.confirmed_only = chance(10);
  options.due_only = chance(20);
  options.sweep = chance(30);
  start_reconcile(*host, std::move(options));
}

std::optional<Established> Simulation::truth_about(const std::string& name) const {
  if (cloud_.alive(name)) return Established::kPresent;
  if (cloud_.may_exist(name) || creates_under_way_.contains(name)) return std::nullopt;
  return Established::kAbsent;
}

void Simulation::establish_some() {
  TestHost* const host = any_living_host();
  if (host == nullptr || rows_.order.empty()) return;
  const Intent& intent = rows_.intents.find(rows_.order[pick(rows_.order.size())])->second;
  // Who looks before the host has died has seen nothing.
  if (intent.state != IntentState::kUncertain && intent.state != IntentState::kCleaning) return;
  ReconcileOptions options;
  options.name = intent.name;
  options.established = truth_about(intent.name);
  // What is being cleaned is not uncertain, so a wrong word about it must be refused.
  if (intent.state == IntentState::kCleaning) options.established = Established::kAbsent;
  if (!options.established) return;
  options.evidence = chance(85) ? "the operator looked" : " ";
  if (chance(30)) options.owner = chance(50) ? "alice" : "bob";
  start_reconcile(*host, std::move(options));
}

void Simulation::retire_some() {
  TestHost* const host = any_living_host();
  if (host == nullptr) return;
  const CallKey& session = kCalls[pick(kCalls.size())];
  const auto end = host->start(retire_session(host->services, session));
  watched_.push_back({host->id(), "a retirement", [end] { return end->has_value(); }});
}

void Simulation::expire_some() {
  TestHost* const host = any_living_host();
  if (host == nullptr) return;
  const auto end = host->start(expire_results(host->services, world_.wall));
  watched_.push_back({host->id(), "an expiry", [end] { return end->has_value(); }});
}

void Simulation::check_watched() {
  for (const auto& delivery : deliveries_) {
    if (delivery->over || !delivery->end->has_value()) continue;
    delivery->over = true;
    check_delivery(*delivery);
  }
  std::erase_if(watched_, [](const Watched& watched) { return watched.is_over(); });
}

void Simulation::check_cancelled_before(const Delivery& delivery) {
  const CallEnd& end = **delivery.end;
  if (end.status != CallEnd::Status::kCancelled || end.receipt || !end.intent_name.empty())
    invariants_.violate("a call that was cancelled before it began has left something");
}

void Simulation::check_delivery(Delivery& delivery) {
  using Status = CallEnd::Status;
  if (delivery.cancelled_before) return check_cancelled_before(delivery);
  const CallEnd& end = **delivery.end;
  const Intent* const intent = intent_of(rows_, delivery.key);
  const bool answered = end.status == Status::kCompleted || end.replayed;
  if (answered && (intent == nullptr || intent->state != IntentState::kReleased)) {
    invariants_.violate("an unresolved call was answered as settled");
    return;
  }
  if (answered && intent->spec_digest != sha256_hex(delivery.spec))
    invariants_.violate("a call was answered with the record of another request");
  if (end.status == Status::kCompleted) {
    const bool expired = intent->result_expired && !end.document;
    if (!expired && end.document != document_of(delivery.spec))
      invariants_.violate("a completed call was answered without its output");
    if (!end.replayed && !delivery.body_completed)
      invariants_.violate("a call completed without its body");
  }
  if (end.status != Status::kCompleted && end.receipt &&
      end.receipt->cost.value_or(Money{}) != Money{})
    invariants_.violate("a call that did not complete has a price");
  if (end.status == Status::kUncertain && !(end.replayed) && (!end.receipt || end.receipt->cost))
    invariants_.violate("an uncertain call has a known cost");
  const bool unresolved = end.message.find("unresolved") != std::string::npos;
  if (unresolved &&
      end.message.find("berth reconcile --name " + end.intent_name) == std::string::npos)
    invariants_.violate("a refusal does not say what resolves it");
}

}  // namespace berth::simulation
