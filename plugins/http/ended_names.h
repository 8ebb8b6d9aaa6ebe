// The names this host has ended, kept where they outlive the process.
//
// The service frees a name at once, so a name that was used up is refused here before a request
// goes out. [KEY-005] What was under way before cannot be stopped here: that is why the manifest
// says recovery "manual". One thread.
#ifndef BERTH_PLUGINS_HTTP_ENDED_NAMES_H_
#define BERTH_PLUGINS_HTTP_ENDED_NAMES_H_

#include <set>
#include <string>
#include <string_view>

namespace berth::http {

class EndedNames {
 public:
  // `state_dir` empty: in memory only. What is older than a week is forgotten.
  explicit EndedNames(std::string_view state_dir);

  // Throws std::system_error when it cannot be written down.
  void add(std::string_view name);
  bool has(std::string_view name) const;

 private:
  std::string path(std::string_view name) const;

  std::string folder_;
  std::set<std::string, std::less<>> names_;  // without a folder
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_ENDED_NAMES_H_
