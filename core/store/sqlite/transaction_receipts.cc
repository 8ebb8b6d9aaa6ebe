#include <fmt/format.h>

#include <utility>

#include "core/store/sqlite/transaction.h"
#include "core/store/sqlite/words.h"

namespace berth::sqlite {
namespace {

// Who and where stand in the intent, which is kept as long as its receipt.
#define BERTH_RECEIPT_SELECT                                                                   \
  "SELECT i.name, i.owner, i.session, i.call, i.turn, p.provider_id, p.provider_version, "     \
  "p.provider_digest, p.scope, r.settlement, r.cost, r.recorded_at, r.settled_at, r.evidence," \
  "r.exit_code, r.cause, r.stdout_bytes, r.stderr_bytes, r.timings, r.provider_cpu_ns, "       \
  "r.provider_wall_ns, r.provider_memory_peak_bytes, r.provider_cost FROM receipts r "         \
  "CROSS JOIN intents i ON i.seq = r.intent CROSS JOIN places p ON p.number = i.place "

bool same_call(const Receipt& receipt, const Intent& intent) {
  return receipt.owner == intent.key.owner && receipt.session == intent.key.session &&
         receipt.call == intent.key.call && receipt.turn == intent.turn &&
         receipt.provider_id == intent.provider_id &&
         receipt.provider_version == intent.provider_version &&
         receipt.provider_digest == intent.provider_digest && receipt.scope == intent.scope;
}

std::optional<std::int64_t> micros(const std::optional<Money>& money) {
  if (!money) return std::nullopt;
  return money->micros();
}

std::optional<Money> money(std::optional<std::int64_t> micros) {
  if (!micros) return std::nullopt;
  return Money::micros(*micros);
}

std::optional<std::int64_t> as_signed(std::optional<std::uint64_t> value) {
  if (!value) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<std::uint64_t> as_unsigned(std::optional<std::int64_t> value) {
  if (!value) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::optional<std::int64_t> widened(std::optional<int> value) {
  if (!value) return std::nullopt;
  return std::int64_t{*value};
}

Result<Receipt> receipt_row(Statement& row) {
  Receipt receipt;
  receipt.name = row.next_text();
  receipt.owner = row.next_text();
  receipt.session = row.next_text();
  receipt.call = row.next_text();
  receipt.turn = row.next_text();
  receipt.provider_id = row.next_text();
  receipt.provider_version = row.next_text();
  receipt.provider_digest = row.next_text();
  BERTH_TRY(receipt.scope, stored_pairs(row.next_text()));
  BERTH_TRY(receipt.settlement, stored_settlement(row.next_text()));
  receipt.cost = money(row.next_optional());
  receipt.recorded_at = wall_time_from_unix_ms(row.next_integer());
  receipt.settled_at = wall_time_from_unix_ms(row.next_integer());
  receipt.evidence = row.next_text();
  if (const auto exit_code = row.next_optional()) receipt.exit_code = static_cast<int>(*exit_code);
  receipt.cause = row.next_text();
  receipt.stdout_bytes = static_cast<std::uint64_t>(row.next_integer());
  receipt.stderr_bytes = static_cast<std::uint64_t>(row.next_integer());
  BERTH_TRY(receipt.timings_us, stored_timings(row.next_text()));
  receipt.provider_cpu_ns = as_unsigned(row.next_optional());
  receipt.provider_wall_ns = as_unsigned(row.next_optional());
  receipt.provider_memory_peak_bytes = as_unsigned(row.next_optional());
  receipt.provider_cost = money(row.next_optional());
  return receipt;
}

// The parts of a receipt that may still be learned while its cost is unknown.
void bind_evidence(Statement& statement, const Receipt& receipt, std::string_view timings) {
  statement.text(stored(receipt.settlement)).integer(micros(receipt.cost));
  statement.integer(unix_ms(receipt.settled_at)).text(receipt.evidence);
  statement.integer(widened(receipt.exit_code)).text(receipt.cause);
  statement.integer(static_cast<std::int64_t>(receipt.stdout_bytes));
  statement.integer(static_cast<std::int64_t>(receipt.stderr_bytes)).text(timings);
  statement.integer(as_signed(receipt.provider_cpu_ns));
  statement.integer(as_signed(receipt.provider_wall_ns));
  statement.integer(as_signed(receipt.provider_memory_peak_bytes));
  statement.integer(micros(receipt.provider_cost));
}

}  // namespace

Result<std::optional<Receipt>> SqliteTransaction::receipt(std::string_view name) {
  return noted([&]() -> Result<std::optional<Receipt>> {
    BERTH_TRY(const RowCache::Entry* const intent, load(name));
    if (intent == nullptr || intent->without_receipt) return std::optional<Receipt>();
    BERTH_TRY(Statement find, connection_.use(BERTH_RECEIPT_SELECT "WHERE r.intent = ?"));
    BERTH_TRY(const bool row, find.integer(intent->seq).step());
    if (!row) return std::optional<Receipt>();
    BERTH_TRY(Receipt receipt, receipt_row(find));
    return std::optional<Receipt>(std::move(receipt));
  }());
}

Result<std::vector<Receipt>> SqliteTransaction::receipts(const ReceiptFilter& filter) {
  return noted(list_receipts(filter));
}

Result<std::vector<Receipt>> SqliteTransaction::list_receipts(const ReceiptFilter& filter) {
  std::string sql = BERTH_RECEIPT_SELECT "WHERE r.intent > ?";
  if (!filter.owner.empty()) sql += " AND i.owner = ?";
  if (!filter.session.empty()) sql += " AND i.session = ?";
  if (!filter.provider_id.empty()) sql += " AND p.provider_id = ?";
  if (!filter.name.empty()) sql += " AND r.intent = ?";
  if (filter.from) sql += " AND r.recorded_at >= ?";
  if (filter.until) sql += " AND r.recorded_at < ?";
  if (filter.unknown_cost_only) sql += " AND r.cost IS NULL";
  sql += " ORDER BY r.intent LIMIT ?";
  std::int64_t after = 0;
  if (!filter.after_name.empty()) {
    BERTH_TRY(const std::optional<std::int64_t> last, seq_of(filter.after_name));
    BERTH_TRY(Statement find, connection_.use("SELECT intent FROM receipts WHERE intent = ?"));
    BERTH_TRY(const bool row, find.integer(last.value_or(0)).step());
    if (!row)
      return fail(ErrorKind::kNotFound,
                  fmt::format("no receipt has the name {} to go on from", filter.after_name));
    after = find.next_integer();
  }
  std::optional<std::int64_t> only;
  if (!filter.name.empty()) {
    BERTH_TRY(only, seq_of(filter.name));
    if (!only) return std::vector<Receipt>();
  }
  BERTH_TRY(Statement rows, connection_.use_text(sql));
  rows.integer(after);
  for (const std::string* text : {&filter.owner, &filter.session, &filter.provider_id})
    if (!text->empty()) rows.text(*text);
  if (only) rows.integer(*only);
  if (filter.from) rows.integer(unix_ms(*filter.from));
  if (filter.until) rows.integer(unix_ms(*filter.until));
  rows.integer(static_cast<std::int64_t>(filter.count_max));
  std::vector<Receipt> found;
  for (;;) {
    BERTH_TRY(const bool row, rows.step());
    if (!row) return found;
    BERTH_TRY(Receipt receipt, receipt_row(rows));
    found.push_back(std::move(receipt));
  }
}

Status SqliteTransaction::insert_receipt(const Receipt& receipt) {
  return noted(write_receipt(receipt));
}

Status SqliteTransaction::write_receipt(const Receipt& receipt) {
  BERTH_CHECK_OK(begin_write());
  BERTH_TRY(const RowCache::Entry* const intent, need(receipt.name));
  if (!same_call(receipt, intent->intent))
    return fail(
        ErrorKind::kConflict,
        fmt::format("a receipt for {} names another call, provider or scope than its intent",
                    receipt.name));
  BERTH_TRY(
      Statement insert,
      connection_.use("INSERT INTO receipts (intent, owner, recorded_at, settlement, cost, "
                      "settled_at, evidence, exit_code, cause, stdout_bytes, stderr_bytes, "
                      "timings, provider_cpu_ns, provider_wall_ns, provider_memory_peak_bytes, "
                      "provider_cost) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT "
                      "(intent) DO NOTHING"));
  const std::string timings = stored(receipt.timings_us);
  insert.integer(intent->seq).text(receipt.owner).integer(unix_ms(receipt.recorded_at));
  bind_evidence(insert, receipt, timings);
  BERTH_TRY(const std::int64_t changed, insert.run());
  if (changed != 1)
    return fail(ErrorKind::kConflict,
                fmt::format("a receipt of intent {} is recorded already", receipt.name));
  if (RowCache::Entry* const cached = known(receipt.name)) cached->without_receipt = false;
  return {};
}

Status SqliteTransaction::settle_receipt(const Receipt& receipt) {
  return noted(rewrite_receipt(receipt));
}

Status SqliteTransaction::rewrite_receipt(const Receipt& receipt) {
  BERTH_CHECK_OK(begin_write());
  if (!receipt.cost)
    return fail(ErrorKind::kConflict,
                fmt::format("receipt {} cannot be settled without a cost", receipt.name));
  BERTH_TRY(const RowCache::Entry* const intent, need(receipt.name));
  BERTH_TRY(
      Statement update,
      connection_.use("UPDATE receipts SET settlement = ?, cost = ?, settled_at = ?, evidence = "
                      "?, exit_code = ?, cause = ?, stdout_bytes = ?, stderr_bytes = ?, timings "
                      "= ?, provider_cpu_ns = ?, provider_wall_ns = ?, "
                      "provider_memory_peak_bytes = ?, provider_cost = ? WHERE intent = ? AND "
                      "cost IS NULL AND owner = ?"));
  const std::string timings = stored(receipt.timings_us);
  bind_evidence(update, receipt, timings);
  BERTH_TRY(const std::int64_t changed, update.integer(intent->seq).text(receipt.owner).run());
  if (changed != 1)
    return fail(ErrorKind::kConflict,
                fmt::format("receipt {} is not one of unknown cost of this owner", receipt.name));
  return {};
}

}  // namespace berth::sqlite
