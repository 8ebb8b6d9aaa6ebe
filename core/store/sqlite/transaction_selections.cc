#include "core/store/sqlite/transaction.h"

namespace berth::sqlite {

Result<std::optional<std::string>> SqliteTransaction::selection(std::string_view application) {
  return noted(find_selection(application));
}

Result<std::optional<std::string>> SqliteTransaction::find_selection(std::string_view application) {
  BERTH_TRY(Statement find,
            connection_.use("SELECT provider_id FROM selections WHERE application = ?"));
  BERTH_TRY(const bool row, find.text(application).step());
  if (!row) return std::optional<std::string>();
  return std::optional<std::string>(find.next_text());
}

Status SqliteTransaction::put_selection(std::string_view application,
                                        std::string_view provider_id) {
  return noted(write_selection(application, provider_id));
}

Status SqliteTransaction::write_selection(std::string_view application,
                                          std::string_view provider_id) {
  BERTH_CHECK_OK(begin_write());
  BERTH_TRY(Statement put, connection_.use("INSERT OR REPLACE INTO selections VALUES (?, ?)"));
  BERTH_TRY([[maybe_unused]] const std::int64_t changed,
            put.text(application).text(provider_id).run());
  return {};
}

}  // namespace berth::sqlite
