// RowCache: rows that this process wrote or read last, so that the three commits of one call do not
// read them from the file again.
//
// It holds what the open transaction sees. Its user clears it whenever that may have changed behind
// it: another process committed, or something was rolled back. One thread.
#ifndef BERTH_CORE_STORE_SQLITE_ROW_CACHE_H_
#define BERTH_CORE_STORE_SQLITE_ROW_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/lifecycle/intent.h"

namespace berth::sqlite {

class RowCache {
 public:
  struct Entry {
    Intent intent;
    std::int64_t seq = 0;
    // Lines in its journal; absent: not counted yet.
    std::optional<std::int64_t> lines = std::nullopt;
    // True: it has none. False: not known, the file has to be asked.
    bool without_receipt = false;
  };

  Entry* intent(std::string_view name) {
    // A unit asks for the same one many times.
    if (last_ != nullptr && last_->intent.name == name) return last_;
    const auto found = intents_.find(name);
    if (found == intents_.end()) return nullptr;
    last_ = &found->second;
    return last_;
  }
  Entry& keep(Entry entry) {
    if (intents_.size() >= kEntriesMax) intents_.clear();  // last_ is set anew below
    std::string name = entry.intent.name;
    last_ = &intents_.insert_or_assign(std::move(name), std::move(entry)).first->second;
    return *last_;
  }
  void forget(std::string_view name) {
    const auto found = intents_.find(name);
    if (found == intents_.end()) return;
    last_ = nullptr;
    intents_.erase(found);
  }

  // Of an (owner, session) joined by key_of; an absent record is cached too.
  const std::optional<SessionRecord>* session(std::string_view key) const {
    return find(sessions_, key);
  }
  void keep_session(std::string key, std::optional<SessionRecord> record) {
    if (sessions_.size() >= kEntriesMax) sessions_.clear();
    sessions_.insert_or_assign(std::move(key), std::move(record));
  }
  // Several texts as one. Their lengths keep apart what separators could not.
  static std::string key_of(std::initializer_list<std::string_view> parts) {
    std::size_t size = 0;
    for (const std::string_view part : parts) size += sizeof(std::uint32_t) + part.size();
    std::string key;
    key.reserve(size);
    for (const std::string_view part : parts) {
      for (std::size_t shift = 0; shift < 32; shift += 8)
        key += static_cast<char>(part.size() >> shift & 0xff);
      key += part;
    }
    return key;
  }

  // The number of a row that many intents refer to, of its texts joined by key_of.
  std::optional<std::int64_t> shared_row(std::string_view key) const {
    const std::int64_t* const number = find(shared_rows_, key);
    return number == nullptr ? std::nullopt : std::optional(*number);
  }
  void keep_shared_row(std::string key, std::int64_t number) {
    if (shared_rows_.size() >= kEntriesMax) shared_rows_.clear();
    shared_rows_.insert_or_assign(std::move(key), number);
  }

  // The scope that every open intent of the provider has, when that is known.
  const Scope* only_scope(std::string_view provider_id) const {
    return find(only_scopes_, provider_id);
  }
  void keep_only_scope(std::string_view provider_id, Scope scope) {
    if (only_scopes_.size() >= kEntriesMax) only_scopes_.clear();
    only_scopes_.insert_or_assign(std::string(provider_id), std::move(scope));
  }
  // An intent of this scope is open from now on.
  void opened(std::string_view provider_id, const Scope& scope) {
    const auto found = only_scopes_.find(provider_id);
    if (found != only_scopes_.end() && found->second != scope) only_scopes_.erase(found);
  }

  void clear() {
    last_ = nullptr;
    intents_.clear();
    sessions_.clear();
    only_scopes_.clear();
    shared_rows_.clear();
  }

 private:
  // Calls in flight and sessions in use are far fewer.
  static constexpr std::size_t kEntriesMax = 4096;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  template <class Value>
  using Map = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

  template <class Value>
  static const Value* find(const Map<Value>& map, std::string_view key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
  }

  Map<Entry> intents_;
  Entry* last_ = nullptr;  // of intents_, found or kept last
  Map<std::optional<SessionRecord>> sessions_;
  Map<Scope> only_scopes_;
  Map<std::int64_t> shared_rows_;
};

}  // namespace berth::sqlite

#endif  // BERTH_CORE_STORE_SQLITE_ROW_CACHE_H_
