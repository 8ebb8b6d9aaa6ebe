#include "core/accounting/credits.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace berth {
namespace {

constexpr std::int64_t kMicrosPerCent = 10'000;

Result<Money> round_up_to_cent(Money amount) {
  const std::int64_t micros = amount.micros();
  if (micros < 0) return fail(ErrorKind::kCorrupt, "a turn has used less than nothing");
  if (micros > std::numeric_limits<std::int64_t>::max() - kMicrosPerCent)
    return fail(ErrorKind::kLimit, "a turn has used more than the ledger can count");
  return Money::cents((micros + kMicrosPerCent - 1) / kMicrosPerCent);
}

}  // namespace

std::string owner_account(std::string_view owner) { return fmt::format("owner:{}", owner); }

Status Credits::grant(LedgerRows& ledger, std::string_view owner, std::string_view key,
                      Money amount, std::string_view memo, WallTime now) const {
  if (amount.micros() <= 0)
    return fail(
        ErrorKind::kInvalidArgument,
        fmt::format("a grant of {} to owner '{}' is not positive", amount.to_string(), owner));
  // The length keeps owners and keys with colons apart.
  std::string posting_key = fmt::format("grant:{}:{}:{}", owner.size(), owner, key);
  BERTH_TRY(const std::optional<Posting> earlier, ledger.posting(posting_key));
  if (earlier) {
    if (earlier->amount == amount) return {};
    return fail(ErrorKind::kConflict,
                fmt::format("grant '{}' to owner '{}' is recorded with {}, not {}", key, owner,
                            earlier->amount.to_string(), amount.to_string()));
  }
  return ledger.insert_posting(
      {std::move(posting_key), "grants", owner_account(owner), amount, std::string(memo), now});
}

Result<Money> Credits::balance(LedgerRows& ledger, std::string_view owner, WallTime now) const {
  // A changed configuration must not make an earlier owner's grant a conflict, so it is looked up
  // by key alone.
  const std::string key = fmt::format("grant:{}:{}:initial", owner.size(), owner);
  BERTH_TRY(const std::optional<Posting> earlier, ledger.posting(key));
  if (!earlier && config_.initial_grant.micros() > 0)
    BERTH_CHECK_OK(
        grant(ledger, owner, "initial", config_.initial_grant, "grant to a new owner", now));
  return ledger.balance(owner_account(owner));
}

Status Credits::admit(LedgerRows& ledger, std::string_view owner, WallTime now) const {
  BERTH_TRY(const std::uint64_t unknown, ledger.unknown_costs(owner));
  if (unknown > 0)
    return fail(
        ErrorKind::kRefused,
        fmt::format("owner '{}' has {} receipt{} of unknown cost, which blocks paid work; list "
                    "with `berth receipts --owner {} --unknown` and settle with `berth reconcile`",
                    owner, unknown, unknown == 1 ? "" : "s", owner));
  BERTH_TRY(const Money left, balance(ledger, owner, now));
  if (left.micros() <= 0)
    return fail(
        ErrorKind::kRefused,
        fmt::format("owner '{}' has no credit left (balance {}); grant more before paid work",
                    owner, left.to_string()));
  return {};
}

Status Credits::debit(LedgerRows& ledger, const Receipt& receipt) const {
  if (!receipt.cost)
    return fail(ErrorKind::kInternal,
                fmt::format("receipt '{}' has no known cost to debit", receipt.name));
  if (receipt.cost->micros() < 0)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("receipt '{}' has a negative cost", receipt.name));
  if (receipt.cost->micros() == 0) return {};
  // The grant comes before the first debit, so that a positive debit never meets a missing account.
  BERTH_TRY(const Money before, balance(ledger, receipt.owner, receipt.settled_at));
  (void)before;
  BERTH_TRY(TurnTotals totals, ledger.turn(receipt.owner, receipt.session, receipt.turn));
  totals.used += *receipt.cost;
  BERTH_TRY(const Money due, round_up_to_cent(totals.used));
  const Money owed = due - totals.debited;
  if (owed.micros() > 0) {
    BERTH_CHECK_OK(ledger.insert_posting(
        {fmt::format("usage:{}", receipt.name), owner_account(receipt.owner), "usage", owed,
         fmt::format("turn {}", receipt.turn), receipt.settled_at}));
    totals.debited = due;
  }
  return ledger.put_turn(receipt.owner, receipt.session, receipt.turn, totals);
}

}  // namespace berth
