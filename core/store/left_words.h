// LeftWords: what hosts left for whoever settles an intent after them, because the store did not take
// it. A file for each intent, in a folder that is there already: its name alone needs no room on most
// file systems, so that even a full disk leaves a trace.
//
// Any thread. Nothing is promised: what cannot be written is lost.
#ifndef BERTH_CORE_STORE_LEFT_WORDS_H_
#define BERTH_CORE_STORE_LEFT_WORDS_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

class LeftWords {
 public:
  explicit LeftWords(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The latest one stays.
  void leave(std::string_view name, std::string_view word) const;
  // A full disk keeps a sentence about itself in place of the word.
  std::optional<std::string> of(std::string_view name) const;
  std::vector<std::string> names() const;
  void drop(std::string_view name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace berth

#endif  // BERTH_CORE_STORE_LEFT_WORDS_H_
