// Rows that many intents refer to: who works on them, and with what provider.
#include <array>
#include <span>
#include <utility>

#include "core/store/sqlite/transaction.h"
#include "core/store/sqlite/words.h"

namespace berth::sqlite {
namespace {

Result<std::int64_t> find_or_insert(Connection& connection, Sql find_sql, Sql insert_sql,
                                    std::span<const std::string_view> texts) {
  {
    BERTH_TRY(Statement find, connection.use(find_sql));
    for (const std::string_view text : texts) find.text(text);
    BERTH_TRY(const bool row, find.step());
    if (row) return find.next_integer();
  }
  BERTH_TRY(Statement insert, connection.use(insert_sql));
  for (const std::string_view text : texts) insert.text(text);
  BERTH_TRY([[maybe_unused]] const std::int64_t changed, insert.run());
  return connection.last_row();
}

}  // namespace

Result<std::int64_t> SqliteTransaction::place_of(const Intent& intent) {
  const std::string scope = stored(intent.scope);
  const std::array<std::string_view, 4> texts = {intent.provider_id, intent.provider_version,
                                                 intent.provider_digest, scope};
  std::string key = RowCache::key_of({texts[0], texts[1], texts[2], texts[3]});
  if (const auto number = cache_.shared_row(key)) return *number;
  BERTH_TRY(
      const std::int64_t number,
      find_or_insert(connection_,
                     "SELECT number FROM places WHERE provider_id = ? AND provider_version = ? "
                     "AND provider_digest = ? AND scope = ?",
                     "INSERT INTO places (provider_id, provider_version, provider_digest, scope) "
                     "VALUES (?, ?, ?, ?)",
                     texts));
  cache_.keep_shared_row(std::move(key), number);
  return number;
}

Result<std::int64_t> SqliteTransaction::holder_of(const Intent& intent) {
  const Holder& holder = intent.holder;
  const std::array<std::string_view, 3> texts = {holder.boot_id, holder.host_id, holder.lock_path};
  std::string key = RowCache::key_of({texts[0], texts[1], texts[2]});
  if (const auto number = cache_.shared_row(key)) return *number;
  BERTH_TRY(const std::int64_t number,
            find_or_insert(connection_,
                           "SELECT number FROM holders WHERE boot_id = ? AND host_id = ? AND "
                           "lock_path = ?",
                           "INSERT INTO holders (boot_id, host_id, lock_path) VALUES (?, ?, ?)",
                           texts));
  cache_.keep_shared_row(std::move(key), number);
  return number;
}

}  // namespace berth::sqlite
