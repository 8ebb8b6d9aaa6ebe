// What the interpreters of this machine said of themselves, remembered for as long as nothing they
// depend on has changed: asking them again would cost every load a start of Python and of Node.
#ifndef BERTH_PLUGINS_LOCAL_INTERPRETERS_H_
#define BERTH_PLUGINS_LOCAL_INTERPRETERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::local {

// Identity, size and time of change of every file and folder the answers depend on. Equal text means
// equal answers. Folders are followed three levels deep, at most a thousand of them.
std::string interpreter_fingerprint(const std::vector<std::string>& paths);

// The paths of this machine: both interpreters, the folders of Python packages, the fonts.
std::vector<std::string> interpreter_paths();

// The answers kept in `file` under this fingerprint; nothing when there are none or it differs.
std::optional<std::string> remembered_answers(const std::string& file, std::string_view fingerprint);

// Replaces the file whole. A failure is no error: the question is then asked again next time.
void remember_answers(const std::string& file, std::string_view fingerprint,
                      std::string_view answers);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_INTERPRETERS_H_
