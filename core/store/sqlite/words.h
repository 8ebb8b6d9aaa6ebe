// The words under which states and lists stand in the database. They are part of the schema, so
// they do not follow what a program prints.
#ifndef BERTH_CORE_STORE_SQLITE_WORDS_H_
#define BERTH_CORE_STORE_SQLITE_WORDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/accounting/receipt.h"
#include "core/base/result.h"
#include "core/lifecycle/intent.h"

namespace berth::sqlite {

std::string_view stored(IntentState state);
std::string_view stored(SessionState state);
std::string_view stored(Settlement settlement);
// An unknown word is kCorrupt.
Result<IntentState> stored_intent_state(std::string_view word);
Result<SessionState> stored_session_state(std::string_view word);
Result<Settlement> stored_settlement(std::string_view word);

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Timings = std::vector<std::pair<std::string, std::int64_t>>;
// JSON arrays of [name, value].
std::string stored(const Pairs& pairs);
std::string stored(const Timings& timings);
Result<Pairs> stored_pairs(std::string_view text);
Result<Timings> stored_timings(std::string_view text);

}  // namespace berth::sqlite

#endif  // BERTH_CORE_STORE_SQLITE_WORDS_H_
