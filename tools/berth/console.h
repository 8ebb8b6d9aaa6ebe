// Console: what Berth itself says on standard output and standard error.
//
// Standard output carries results only; everything said to people on the side goes to standard
// error in lines that begin with "berth:". Colour and moving lines only on a terminal, and no colour
// where NO_COLOR is set. Writes block; the live output of programs goes through LiveOutput instead.
#ifndef BERTH_TOOLS_BERTH_CONSOLE_H_
#define BERTH_TOOLS_BERTH_CONSOLE_H_

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/result.h"
#include "tools/berth/exit_codes.h"
#include "tools/berth/paths.h"

namespace berth::cli {

class Console {
 public:
  explicit Console(const EnvironmentLookup& environment);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Writes a whole result to standard output and says on standard error when that fails. The exit
  // code to end with: kSuccess, kReaderGone or kOutput.
  Exit print(std::string_view text);

  // "berth: <line>" on standard error; a note is quiet, an error is marked. A failure to write to
  // standard error has no one left to be told, so it is ignored.
  void note(std::string_view line);
  void error(std::string_view line);
  void raw_error(std::string_view text);  // lines that are already as they should be

  // A line that overwrites itself, on a terminal only, and goes away with the next thing said.
  void progress(std::string_view text);
  void clear_progress();

  bool out_is_terminal() const { return out_is_terminal_; }
  bool err_is_terminal() const { return err_is_terminal_; }
  bool colours_out() const { return out_is_terminal_ && colour_wanted_; }

 private:
  void say(std::string_view prefix, std::string_view line);

  bool out_is_terminal_ = false;
  bool err_is_terminal_ = false;
  bool colour_wanted_ = false;
  bool can_erase_ = true;  // a line that is there: not on a dumb terminal
  bool progress_shown_ = false;
};

// Foreign text made harmless for a terminal: control characters but tab and newline become "\xNN",
// invalid UTF-8 becomes U+FFFD.
std::string printable(std::string_view text);

// Makes sure that descriptors 0, 1 and 2 are taken, so that no file that is opened later becomes
// standard output by accident. A closed one is replaced by one that cannot be written.
void take_standard_descriptors();

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_CONSOLE_H_
