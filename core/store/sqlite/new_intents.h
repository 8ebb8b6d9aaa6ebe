// NewIntents: the intents that the tables of names and calls do not list yet.
//
// Names are digests and calls come from many sessions, so in an index each new one changes a page of
// its own, and pages are what a commit costs. A new intent's name and call therefore stand in its row
// alone; here they are found in memory, where they are read again from the last rows after a start.
// Some hundred intents at a time are listed in order, which changes each page of the tables once.
//
// Of one connection, on its thread, inside an open transaction. What is known here are rows that this
// connection sees: intents are never deleted and keep their names and calls, so they stay true until
// something is rolled back.
#ifndef BERTH_CORE_STORE_SQLITE_NEW_INTENTS_H_
#define BERTH_CORE_STORE_SQLITE_NEW_INTENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.h"
#include "core/lifecycle/intent.h"
#include "core/store/sqlite/connection.h"

namespace berth::sqlite {

class NewIntents {
 public:
  using Found = Result<std::optional<std::int64_t>>;

  // The number of the intent that has this name or this call, listed or not.
  Found of_name(Connection& connection, std::string_view name);
  Found of_call(Connection& connection, const CallKey& call);
  // An intent was inserted, after its name and its call were asked for.
  void inserted(const Intent& intent, std::int64_t seq);
  // Lists all when they have become many. The transaction may write.
  Status list_many(Connection& connection);

  // Another connection has committed: rows may have been added.
  void look_again() { up_to_date_ = false; }
  // Something was rolled back: what is known may be gone.
  void clear();

 private:
  // A process that begins reads as many rows, in about a millisecond.
  static constexpr std::size_t kUnlistedMax = 1024;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Numbers = std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>>;

  Status catch_up(Connection& connection);
  void know(std::string name, const CallKey& call, std::int64_t seq);

  Numbers names_;
  Numbers calls_;
  std::int64_t seen_to_ = 0;  // every intent up to this one is listed or known here
  bool up_to_date_ = false;
};

}  // namespace berth::sqlite

#endif  // BERTH_CORE_STORE_SQLITE_NEW_INTENTS_H_
