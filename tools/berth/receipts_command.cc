// berth receipts: what calls used and cost, for people and for other programs.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/time.h"
#include "tools/berth/commands.h"
#include "tools/berth/host.h"
#include "tools/berth/records.h"
#include "tools/berth/table.h"

namespace berth::cli {
namespace {

constexpr std::size_t kPage = 1000;

// RFC 4180: quoted where needed, quotes doubled. A leading sign that a spreadsheet would take for a
// formula is left as it is: this is data, and changing it would make it wrong.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char character : text) {
    if (character == '"') out += '"';
    out += character;
  }
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ",") + csv_field(field);
  return line + "\r\n";
}

std::vector<std::string> csv_head() {
  return {"name",       "owner",          "session",         "call",       "turn",
          "provider",   "provider_version", "settlement",     "cost_micro_usd", "recorded_at",
          "settled_at",  "exit_code",       "cause",           "stdout_bytes", "stderr_bytes",
          "total_microseconds"};
}

std::int64_t total_us(const Receipt& receipt) {
  std::int64_t sum = 0;
  for (const auto& [phase, microseconds] : receipt.timings_us) sum += microseconds;
  return sum;
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
          std::to_string(total_us(receipt))};
}

// Gathers pages into one text per format; a table and a document can only be printed whole.
class ReceiptPrinter {
 public:
  ReceiptPrinter(Context& context, std::string format)
      : context_(context), format_(context.common.json ? "json" : std::move(format)) {}

  Exit begin() {
    return format_ == "csv" ? context_.console.print(csv_line(csv_head())) : Exit::kSuccess;
  }

  Exit add(const std::vector<Receipt>& page) {
    std::string text;
    for (const Receipt& receipt : page) {
      if (format_ == "csv") {
        text += csv_line(csv_fields(receipt));
      } else if (format_ == "jsonl") {
        text += to_json_text(to_json(receipt)) + "\n";
      } else if (format_ == "json") {
        document_.push_back(to_json(receipt));
      } else {
        add_row(receipt);
      }
    }
    return text.empty() ? Exit::kSuccess : context_.console.print(text);
  }

  Exit end() {
    if (format_ == "json") {
      return print_json(context_.console, boost::json::object{{"receipts", std::move(document_)}});
    }
    if (format_ != "table") return Exit::kSuccess;
    if (!table_.empty()) return context_.console.print(table_.text());
    context_.console.note("there are no such receipts");
    return Exit::kSuccess;
  }

 private:
  void add_row(const Receipt& receipt) {
    table_.add({to_rfc3339(receipt.recorded_at), receipt.owner, receipt.session, receipt.call,
                receipt.provider_id, std::string(to_string(receipt.settlement)),
                receipt.exit_code ? std::to_string(*receipt.exit_code) : receipt.cause,
                to_human(std::chrono::microseconds(total_us(receipt))),
                receipt.cost ? receipt.cost->to_string() : "unknown"});
  }

  Context& context_;
  std::string format_;
  boost::json::array document_;
  Table table_{{"RECORDED", "OWNER", "SESSION", "CALL", "PROVIDER", "SETTLEMENT", "EXIT", "TIME",
                "COST"}};
};

Task<int> print_all(Context& context, Host& host, const ReceiptsOptions& options) {
  ReceiptFilter filter;
  filter.owner = options.owner;
  filter.session = options.session;
  filter.provider_id = options.provider;
  filter.from = options.since;
  filter.until = options.until;
  filter.count_max = kPage;
  ReceiptPrinter printer(context, options.format);
  Exit printed = printer.begin();
  // Ends with the receipts: each page begins after the last name of the one before.
  while (printed == Exit::kSuccess) {
    auto page = co_await read_receipts(host.store(), filter);
    if (!page) co_return report(context, {Exit::kState, page.error()});
    printed = printer.add(*page);
    if (page->size() < kPage) break;
    filter.after_name = page->back().name;
  }
  if (printed == Exit::kSuccess) printed = printer.end();
  co_return to_int(printed);
}

}  // namespace

Task<int> show_receipts(Context& context, ReceiptsOptions options) {
  auto host = Host::open(context);
  if (!host) co_return report(context, host.error());
  const int exit = co_await print_all(context, **host, options);
  co_await (*host)->close();
  co_return exit;
}

}  // namespace berth::cli
