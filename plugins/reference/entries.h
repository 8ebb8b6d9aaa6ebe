// What the reference provider knows of each name: the one place that decides races between a create
// and a fence.
//
// A name has at most one entry. `insert` succeeds for exactly one caller, whether it brings a
// sandbox or a fence, so the two can never both win; that is what makes recovery "fence" true. Kept
// in memory, or as one small file per name that outlives the process. Any thread.
#ifndef BERTH_PLUGINS_REFERENCE_ENTRIES_H_
#define BERTH_PLUGINS_REFERENCE_ENTRIES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::reference {

struct Entry {
  enum class Kind : char {
    kSandbox = 's',
    kLate = 'l',    // a create whose sandbox has not appeared yet
    kFenced = 'f',  // no create of this name can succeed any more
    kGone = 'g',    // was destroyed; its name is used up
  };
  Kind kind = Kind::kSandbox;
  std::uint64_t created_unix_ms = 0;
  std::uint64_t expires_unix_ms = 0;  // 0: never
  std::uint64_t lookups_left = 0;  // late: how many lookups still see nothing; 0: a timer decides
  std::string owner_tag;
  std::string account;
};

class Entries {
 public:
  virtual ~Entries() = default;

  virtual std::optional<Entry> find(const std::string& name) = 0;
  // False when the name has an entry already; nothing is changed then.
  virtual bool insert(const std::string& name, const Entry& entry) = 0;
  // Replaces an entry if it still is of kind `expected`.
  virtual bool replace(const std::string& name, Entry::Kind expected, const Entry& entry) = 0;
  // The names after `cursor`, sorted, at most `count_max` of them.
  virtual std::vector<std::pair<std::string, Entry>> list(const std::string& cursor,
                                                          std::size_t count_max) = 0;

  static std::unique_ptr<Entries> in_memory();
  // Throws berth::Failure when `folder` cannot be used.
  static std::unique_ptr<Entries> in_folder(const std::string& folder);
};

}  // namespace berth::reference

#endif  // BERTH_PLUGINS_REFERENCE_ENTRIES_H_
