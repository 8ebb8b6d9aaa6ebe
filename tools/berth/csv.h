// Lines of comma-separated values as RFC 4180 has them.
#ifndef BERTH_TOOLS_BERTH_CSV_H_
#define BERTH_TOOLS_BERTH_CSV_H_

#include <string>
#include <vector>

namespace berth::cli {

// Fields are quoted where needed and quotes doubled. A leading sign that a spreadsheet would take
// for a formula is left as it is: this is data, and changing it would make it wrong.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_CSV_H_
