#include "tests/store/good_run.h"

#include <fmt/format.h>

#include "core/base/sha256.h"

namespace berth::test {
namespace {

constexpr WallTime kThen{std::chrono::milliseconds(1'790'000'000'000)};

Status move_to(Transaction& rows, Intent& intent, IntentState to, std::string_view event) {
  const std::uint64_t expected = intent.revision++;
  const IntentState from = intent.state;
  intent.state = to;
  BERTH_CHECK_OK(rows.update_intent(intent, expected));
  return rows.append_journal({intent.name, from, to, std::string(event), "", kThen});
}

Status reserve(Transaction& rows, long number, const std::string& owner) {
  Intent intent = make_intent(number, owner);
  BERTH_TRY(const auto earlier, rows.intent_of_call(intent.key));
  if (earlier) return fail(ErrorKind::kConflict, "the call is known");
  BERTH_TRY(const auto session, rows.session(intent.key.owner, intent.key.session));
  if (session && session->state != SessionState::kOpen)
    return fail(ErrorKind::kRefused, "the session is closed");
  BERTH_TRY(const auto other, rows.unresolved_in_other_scope(intent.provider_id, intent.scope));
  if (other) return fail(ErrorKind::kRefused, "the scope changed");
  BERTH_CHECK_OK(rows.insert_intent(intent));
  return rows.append_journal(
      {intent.name, IntentState::kIntended, IntentState::kDispatched, "dispatch", "", kThen});
}

Status confirm(Transaction& rows, const std::string& name) {
  BERTH_TRY(auto intent, rows.intent(name));
  if (!intent) return fail(ErrorKind::kNotFound, "the intent is gone");
  intent->ref = "ref-" + name;
  return move_to(rows, *intent, IntentState::kCreated, "created");
}

Status release(Transaction& rows, const std::string& name) {
  BERTH_TRY(auto intent, rows.intent(name));
  if (!intent) return fail(ErrorKind::kNotFound, "the intent is gone");
  intent->result = std::string(200, 'r');
  BERTH_CHECK_OK(rows.append_journal(
      {name, IntentState::kCreated, IntentState::kRunning, "started", "", kThen}));
  BERTH_CHECK_OK(rows.append_journal(
      {name, IntentState::kRunning, IntentState::kCleaning, "finished", "", kThen}));
  BERTH_CHECK_OK(move_to(rows, *intent, IntentState::kReleased, "deleted"));
  return rows.insert_receipt(make_receipt(*intent));
}

}  // namespace

Intent make_intent(long number, std::string_view owner) {
  Intent intent;
  intent.key = {std::string(owner), "session-1", fmt::format("call-{:08}", number)};
  intent.name =
      "berth-" + sha256_hex(fmt::format("{}/{}/{}", owner, "session-1", number)).substr(0, 32);
  intent.turn = intent.key.call;
  intent.provider_id = "reference";
  intent.provider_version = "0.1.0";
  intent.provider_digest = std::string(64, 'd');
  intent.spec_digest = std::string(64, 's');
  intent.scope = {{"account", "acct-1"}, {"endpoint", "https://example.test"}};
  intent.holder = {"boot", "host", "/var/lib/berth/holders/host.lock"};
  intent.state = IntentState::kDispatched;
  intent.dispatched = true;
  intent.created_at = kThen;
  intent.updated_at = kThen;
  intent.revision = 1;
  return intent;
}

Receipt make_receipt(const Intent& intent) {
  Receipt receipt;
  receipt.name = intent.name;
  receipt.owner = intent.key.owner;
  receipt.session = intent.key.session;
  receipt.call = intent.key.call;
  receipt.turn = intent.turn;
  receipt.provider_id = intent.provider_id;
  receipt.provider_version = intent.provider_version;
  receipt.provider_digest = intent.provider_digest;
  receipt.scope = intent.scope;
  receipt.settlement = Settlement::kCompleted;
  receipt.cost = Money::micros(50'000);
  receipt.recorded_at = kThen;
  receipt.settled_at = kThen;
  receipt.exit_code = 0;
  receipt.cause = "exited";
  receipt.stdout_bytes = 2;
  receipt.timings_us = {{"reserve", 300}, {"create", 900}, {"run", 1200}, {"cleanup", 400}};
  return receipt;
}

Task<Status> good_run(Store& store, long number, std::string owner) {
  const std::string name = make_intent(number, owner).name;
  UnitOfWork first = [number, owner](Transaction& rows) { return reserve(rows, number, owner); };
  BERTH_CO_CHECK_OK(co_await store.commit(std::move(first)));
  UnitOfWork second = [name](Transaction& rows) { return confirm(rows, name); };
  BERTH_CO_CHECK_OK(co_await store.commit(std::move(second)));
  UnitOfWork third = [name](Transaction& rows) { return release(rows, name); };
  co_return co_await store.commit(std::move(third));
}

}  // namespace berth::test
