// berth receipts: what calls used and cost, for people and for other programs. Read and printed
// page by page, so that the size of the store does not matter.
#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/accounting/summary.h"
#include "core/base/time.h"
#include "tools/berth/commands.h"
#include "tools/berth/record_printer.h"
#include "tools/berth/record_source.h"
#include "tools/berth/records.h"

namespace berth::cli {
namespace {

constexpr std::size_t kReceiptsPage = 1000;
constexpr const char* kNothing = "there are no such receipts";

std::vector<std::string> csv_head() {
  return {"name",           "owner",        "session",          "call",
          "turn",           "provider",     "provider_version", "settlement",
          "cost_micro_usd", "recorded_at",  "settled_at",       "exit_code",
          "cause",          "stdout_bytes", "stderr_bytes",     "total_microseconds"};
}

std::vector<std::string> table_head() {
  return {"RECORDED", "OWNER", "SESSION", "CALL", "PROVIDER", "SETTLEMENT", "EXIT", "TIME", "COST"};
}

std::vector<std::string> csv_fields(const Receipt& receipt) {
  return {receipt.name,
          receipt.owner,
          receipt.session,
          receipt.call,
          receipt.turn,
          receipt.provider_id,
          receipt.provider_version,
          std::string(to_string(receipt.settlement)),
          receipt.cost ? std::to_string(receipt.cost->micros()) : std::string(),
          to_rfc3339(receipt.recorded_at),
          to_rfc3339(receipt.settled_at),
          receipt.exit_code ? std::to_string(*receipt.exit_code) : std::string(),
          receipt.cause,
          std::to_string(receipt.stdout_bytes),
          std::to_string(receipt.stderr_bytes),
          receipt.timings_us.empty() ? std::string() : std::to_string(total_us(receipt))};
}

// What was settled without its host has no times: nobody measured any.
std::string time_of(const Receipt& receipt) {
  if (receipt.timings_us.empty()) return "unknown";
  return to_human(std::chrono::microseconds(total_us(receipt)));
}

std::vector<std::string> table_cells(const Receipt& receipt) {
  return {to_rfc3339(receipt.recorded_at),
          receipt.owner,
          receipt.session,
          receipt.call,
          receipt.provider_id,
          std::string(to_string(receipt.settlement)),
          receipt.exit_code ? std::to_string(*receipt.exit_code) : receipt.cause,
          time_of(receipt),
          receipt.cost ? receipt.cost->to_string() : "unknown"};
}

void add(RecordPrinter& printer, const Receipt& receipt) {
  switch (printer.format()) {
    case ListFormat::kTable:
      printer.add_row(table_cells(receipt));
      return;
    case ListFormat::kCsv:
      printer.add_row(csv_fields(receipt));
      return;
    case ListFormat::kJson:
    case ListFormat::kJsonLines:
      printer.add(to_json(receipt));
      return;
  }
}

ReceiptFilter filter_of(const ReceiptsOptions& options) {
  ReceiptFilter filter;
  filter.owner = options.owner;
  filter.session = options.session;
  filter.provider_id = options.provider;
  filter.from = options.since;
  filter.until = options.until;
  filter.unknown_cost_only = options.unknown;
  filter.count_max = kReceiptsPage;
  return filter;
}

// Hands over page after page until there are no more, or `take` says anything but kSuccess.
Task<Tried<Exit>> each_page(Store& store, ReceiptFilter filter,
                            std::function<Exit(const std::vector<Receipt>&)> take) {
  // Ends with the receipts: each page begins after the last name of the one before.
  for (;;) {
    auto page = co_await read_receipts(store, filter);
    if (!page) co_return failed(Exit::kState, page.error());
    const Exit taken = take(*page);
    if (taken != Exit::kSuccess || page->size() < kReceiptsPage) co_return taken;
    filter.after_name = page->back().name;
  }
}

Task<Tried<Exit>> print_list(Context& context, Store& store, const ReceiptsOptions& options) {
  RecordPrinter printer(context.console, list_format(context.common.json, options.format),
                        {"receipts", table_head(), csv_head()});
  std::function<Exit(const std::vector<Receipt>&)> take =
      [&printer](const std::vector<Receipt>& page) {
        for (const Receipt& receipt : page) add(printer, receipt);
        return printer.flush();
      };
  auto printed = co_await each_page(store, filter_of(options), std::move(take));
  if (!printed && printer.begun()) {
    context.console.error(printed.error().error.message());
    co_return printed.error().exit;
  }
  if (!printed || *printed != Exit::kSuccess) co_return printed;
  co_return printer.end(kNothing);
}

std::vector<std::string> summary_cells(std::string day, std::string provider,
                                       const ReceiptTotals& totals) {
  std::vector<std::string> cells = {std::move(day), std::move(provider),
                                    std::to_string(totals.calls)};
  for (const Settlement settlement :
       {Settlement::kCompleted, Settlement::kInfrastructureFailure, Settlement::kCancelled,
        Settlement::kRefused, Settlement::kHostDied, Settlement::kUncertain}) {
    cells.push_back(std::to_string(totals.count(settlement)));
  }
  cells.push_back(totals.cost.to_string());
  cells.push_back(std::to_string(totals.unknown_costs));
  cells.push_back(fmt::format("{}", totals.stdout_bytes + totals.stderr_bytes));
  cells.push_back(to_human(std::chrono::microseconds(totals.wall_us)));
  return cells;
}

Exit print_summary(Context& context, const ReceiptSummary& summary) {
  if (context.common.json) return print_json(context.console, to_json(summary));
  if (summary.rows().empty()) {
    context.console.note(kNothing);
    return Exit::kSuccess;
  }
  Table table({"DAY", "PROVIDER", "CALLS", "COMPLETED", "INFRASTRUCTURE", "CANCELLED", "REFUSED",
               "HOST DIED", "UNCERTAIN", "KNOWN COST", "UNKNOWN", "BYTES", "TIME"});
  for (const auto& [key, totals] : summary.rows()) {
    table.add(summary_cells(key.first, key.second, totals));
  }
  table.add(summary_cells("total", {}, summary.total()));
  return context.console.print(table.take());
}

Task<Tried<Exit>> print_totals(Context& context, Store& store, const ReceiptsOptions& options) {
  ReceiptSummary summary;
  std::function<Exit(const std::vector<Receipt>&)> take =
      [&summary](const std::vector<Receipt>& page) {
        for (const Receipt& receipt : page) summary.add(receipt);
        return Exit::kSuccess;
      };
  auto read = co_await each_page(store, filter_of(options), std::move(take));
  if (!read) co_return read;
  co_return print_summary(context, summary);
}

}  // namespace

Task<int> show_receipts(Context& context, ReceiptsOptions options) {
  auto records = RecordSource::open(context);
  if (!records) co_return report(context, records.error());
  Store& store = (*records)->store();
  Tried<Exit> printed = Exit::kSuccess;
  if (options.summary) {
    printed = co_await print_totals(context, store, options);
  } else {
    printed = co_await print_list(context, store, options);
  }
  co_await (*records)->close();
  if (!printed) co_return report(context, printed.error());
  co_return to_int(*printed);
}

}  // namespace berth::cli
