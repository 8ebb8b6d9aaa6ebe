// berth credits: the built-in ledger: grants, balances and what was debited for what.
#include "core/accounting/credits.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "tools/berth/commands.h"
#include "tools/berth/host.h"
#include "tools/berth/record_printer.h"
#include "tools/berth/run_execution.h"

namespace berth::cli {
namespace {

constexpr std::size_t kPostingsPage = 1000;

Failure ledger_failure(Error error) {
  const bool refused = error.kind() == ErrorKind::kConflict;
  return {refused ? Exit::kRefused : Exit::kState, std::move(error)};
}

// A unit of work on the ledger, with a value that leaves it.
template <class T>
Task<Tried<T>> on_ledger(Host& host, std::function<Result<T>(LedgerRows&)> work) {
  auto value = std::make_shared<T>();
  UnitOfWork unit = [value, work = std::move(work)](Transaction& rows) -> Status {
    BERTH_TRY(*value, work(rows.ledger()));
    return {};
  };
  const Status done = co_await host.store().commit(std::move(unit));
  if (!done) co_return tl::unexpected<Failure>(ledger_failure(done.error()));
  co_return std::move(*value);
}

// Opens the host of a configuration with billing, works with it, closes it.
Task<int> with_credits(Context& context, std::function<Task<Tried<Exit>>(Host&, Credits)> work) {
  auto settings = read_settings(context);
  if (!settings) co_return report(context, settings.error());
  if (!settings->credits) {
    co_return report(
        context,
        {Exit::kConfiguration,
         Error(ErrorKind::kUnavailable,
               "billing is not enabled: usage is recorded and nothing is debited; add \"billing\": "
               "{\"kind\": \"credits\"} to the configuration file")});
  }
  auto host = Host::open(context);
  if (!host) co_return report(context, host.error());
  auto done = co_await work(**host, Credits(*settings->credits));
  co_await (*host)->close();
  if (!done) co_return report(context, done.error());
  co_return to_int(*done);
}

struct Granted {
  bool before = false;  // it was given already
  Money balance;
};

Task<Tried<Exit>> grant_on(Context& context, Host& host, Credits credits,
                           const CreditsGrantOptions& options) {
  const std::string key = options.key.empty() ? random_hex(16) : options.key;
  std::function<Result<Granted>(LedgerRows&)> work =
      [credits, key, options, now = wall_now()](LedgerRows& ledger) -> Result<Granted> {
    BERTH_TRY(const Money before, credits.balance(ledger, options.owner, now));
    BERTH_CHECK_OK(credits.grant(ledger, options.owner, key, options.amount, options.memo, now));
    BERTH_TRY(const Money after, credits.balance(ledger, options.owner, now));
    return Granted{before == after, after};
  };
  auto granted = co_await on_ledger<Granted>(host, std::move(work));
  if (!granted) co_return tl::unexpected<Failure>(std::move(granted).error());
  if (context.common.json) {
    boost::json::object document;
    document["owner"] = options.owner;
    document["key"] = key;
    document["amount_micro_usd"] = options.amount.micros();
    document["granted_before"] = granted->before;
    document["balance_micro_usd"] = granted->balance.micros();
    co_return print_json(context.console, document);
  }
  co_return context.console.print(
      fmt::format("'{}' {} {} under the key '{}'; balance {}\n", printable(options.owner),
                  granted->before ? "already has" : "is granted", options.amount.to_string(),
                  printable(key), granted->balance.to_string()));
}

struct OwnerStanding {
  Money balance;
  std::uint64_t unknown_costs = 0;
  std::string refusal;  // empty: paid work may start
};

Task<Tried<Exit>> balance_on(Context& context, Host& host, Credits credits,
                             const std::string& owner) {
  std::function<Result<OwnerStanding>(LedgerRows&)> work =
      [credits, owner, now = wall_now()](LedgerRows& ledger) -> Result<OwnerStanding> {
    OwnerStanding standing;
    BERTH_TRY(standing.balance, credits.balance(ledger, owner, now));
    BERTH_TRY(standing.unknown_costs, ledger.unknown_costs(owner));
    const Status admitted = credits.admit(ledger, owner, now);
    if (!admitted) standing.refusal = admitted.error().message();
    return standing;
  };
  auto standing = co_await on_ledger<OwnerStanding>(host, std::move(work));
  if (!standing) co_return tl::unexpected<Failure>(std::move(standing).error());
  if (context.common.json) {
    boost::json::object document;
    document["owner"] = owner;
    document["balance_micro_usd"] = standing->balance.micros();
    document["unknown_costs"] = standing->unknown_costs;
    document["may_start_paid_work"] = standing->refusal.empty();
    co_return print_json(context.console, document);
  }
  if (!standing->refusal.empty()) context.console.note(standing->refusal);
  co_return context.console.print(standing->balance.to_string() + "\n");
}

// One posting as the owner's account sees it.
struct StatementLine {
  Posting posting;
  Money amount;   // positive: received
  Money balance;  // after it

  std::vector<std::string> cells(ListFormat format) const {
    const bool table = format == ListFormat::kTable;
    const std::string other = amount.micros() < 0 ? posting.to : posting.from;
    return {to_rfc3339(posting.at),
            other,
            table ? amount.to_string() : std::to_string(amount.micros()),
            table ? balance.to_string() : std::to_string(balance.micros()),
            posting.memo,
            posting.key};
  }
  boost::json::object json() const {
    boost::json::object out;
    out["at"] = to_rfc3339(posting.at);
    out["account"] = amount.micros() < 0 ? posting.to : posting.from;
    out["amount_micro_usd"] = amount.micros();
    out["balance_micro_usd"] = balance.micros();
    out["memo"] = posting.memo;
    out["key"] = posting.key;
    return out;
  }
};

Task<Tried<Exit>> statement_on(Context& context, Host& host, Credits credits,
                               const CreditsStatementOptions& options) {
  const std::string owner = chosen_owner(options.owner);
  RecordPrinter printer(
      context.console, list_format(context.common.json, options.format),
      {"postings",
       {"AT", "ACCOUNT", "AMOUNT", "BALANCE", "MEMO", "KEY"},
       {"at", "account", "amount_micro_usd", "balance_micro_usd", "memo", "key"}});
  StatementLine line;
  std::string after;
  // Ends with the ledger's last posting of this account.
  for (;;) {
    std::function<Result<std::vector<Posting>>(LedgerRows&)> work =
        [credits, owner, after,
         now = wall_now()](LedgerRows& ledger) -> Result<std::vector<Posting>> {
      // A new owner's account begins with the grant.
      BERTH_TRY([[maybe_unused]] const Money balance, credits.balance(ledger, owner, now));
      return ledger.postings(owner_account(owner), after, kPostingsPage);
    };
    auto page = co_await on_ledger<std::vector<Posting>>(host, std::move(work));
    if (!page && printer.begun()) {
      context.console.error(page.error().error.message());
      co_return page.error().exit;
    }
    if (!page) co_return tl::unexpected<Failure>(std::move(page).error());
    for (Posting& posting : *page) {
      after = posting.key;
      line.amount = posting.to == owner_account(owner) ? posting.amount : -posting.amount;
      line.balance += line.amount;
      line.posting = std::move(posting);
      const ListFormat format = printer.format();
      if (format == ListFormat::kJson || format == ListFormat::kJsonLines) {
        printer.add(line.json());
      } else {
        printer.add_row(line.cells(format));
      }
    }
    const bool last = page->size() < kPostingsPage;
    if (last) co_return printer.end("there are no postings");
    const Exit printed = printer.flush();
    if (printed != Exit::kSuccess) co_return printed;
  }
}

}  // namespace

Task<int> grant_credits(Context& context, CreditsGrantOptions options) {
  if (is_blank(options.owner)) {
    co_return report(
        context, {Exit::kUsage, Error(ErrorKind::kInvalidArgument, "the owner must not be blank")});
  }
  std::function<Task<Tried<Exit>>(Host&, Credits)> work = [&](Host& host, Credits credits) {
    return grant_on(context, host, credits, options);
  };
  co_return co_await with_credits(context, std::move(work));
}

Task<int> show_balance(Context& context, CreditsBalanceOptions options) {
  const std::string owner = chosen_owner(options.owner);
  std::function<Task<Tried<Exit>>(Host&, Credits)> work = [&](Host& host, Credits credits) {
    return balance_on(context, host, credits, owner);
  };
  co_return co_await with_credits(context, std::move(work));
}

Task<int> show_statement(Context& context, CreditsStatementOptions options) {
  std::function<Task<Tried<Exit>>(Host&, Credits)> work = [&](Host& host, Credits credits) {
    return statement_on(context, host, credits, options);
  };
  co_return co_await with_credits(context, std::move(work));
}

}  // namespace berth::cli
