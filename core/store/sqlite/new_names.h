// NewNames: the intents that the table of names does not list yet.
//
// Names are digests, so in an index each new one changes a page of its own, and pages are what a
// commit costs. A new intent's name therefore stands in its row alone; here it is found in memory,
// where it is read again from the last rows after a start. Some hundred names at a time are listed in
// order, which changes each page of the table once.
//
// The writer's thread, inside an open transaction that may write.
#ifndef BERTH_CORE_STORE_SQLITE_NEW_NAMES_H_
#define BERTH_CORE_STORE_SQLITE_NEW_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.h"
#include "core/store/sqlite/connection.h"

namespace berth::sqlite {

// The number of a listed name, for any connection.
Result<std::optional<std::int64_t>> find_listed(Connection& connection, std::string_view name);
// The same of one that is not listed, by reading all of these: for a connection that only reads.
Result<std::optional<std::int64_t>> find_unlisted(Connection& connection, std::string_view name);

class NewNames {
 public:
  // The number of the intent that has this name and is not listed.
  Result<std::optional<std::int64_t>> find(Connection& connection, std::string_view name);
  // An intent was inserted, after its name was asked for.
  void inserted(std::string_view name, std::int64_t seq);
  // Lists all when they have become many.
  Status list_many(Connection& connection);

  // Another process has committed: rows may have been added.
  void look_again() { up_to_date_ = false; }
  // Something was rolled back: what is known may be gone.
  void clear();

 private:
  static constexpr std::size_t kUnlistedMax = 512;

  Status catch_up(Connection& connection);

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> names_;
  std::int64_t seen_to_ = 0;  // every intent up to this one is listed or in names_
  bool loaded_ = false;
  bool up_to_date_ = false;
};

}  // namespace berth::sqlite

#endif  // BERTH_CORE_STORE_SQLITE_NEW_NAMES_H_
