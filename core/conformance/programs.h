// Programs that several cases run, and how one sees whether they still do.
#ifndef BERTH_CORE_CONFORMANCE_PROGRAMS_H_
#define BERTH_CORE_CONFORMANCE_PROGRAMS_H_

#include <string>
#include <vector>

#include "core/conformance/lab.h"

namespace berth::conformance {

Command python_command(std::string program, std::vector<std::string> arguments = {});

// Begins a program that runs until somebody ends it, SIGTERM or not, and lengthens the file "kit-pulse" all
// the while. Returns once it says that it runs, or is over already.
Result<plugin::OpId> begin_beating(Lab& lab, const std::string& ref, Treatment treatment = {}, Duration timeout = {});

// Whatever wrote to "kit-pulse", or to "kit-beat" as daemons do, writes no more. `after` completes "a program goes on ...".
Status beats_no_more(Lab& lab, const std::string& ref, std::string_view after);

// The program exited by itself with 0.
Status exited_well(const Lab::Ran& ran);
Lab::Ran ran_of(Record record);
std::string shown(const RunEnd& end);

// Says where the two part, without printing either whole.
Status same_bytes(std::string_view got, std::string_view expected, std::string_view what);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_PROGRAMS_H_
