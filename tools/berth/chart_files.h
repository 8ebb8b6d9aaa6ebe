// Saving charts as files.
#ifndef BERTH_TOOLS_BERTH_CHART_FILES_H_
#define BERTH_TOOLS_BERTH_CHART_FILES_H_

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/execution/execution.h"
#include "tools/berth/chart_page.h"

namespace berth::cli {

enum class Existing {
  kKeep,     // never touch a file that is there: the next free number is taken
  kReplace,  // replace TITLE-N whole
};

struct SavedChart {
  std::filesystem::path path;
  bool already_there = false;  // the same bytes stood there before
  bool replaced = false;
};

// Saves chart N as TITLE-N.png, or, an interactive one, as TITLE-N.json and, with a `page` to draw
// it in, TITLE-N.html; in `folder`, which is made when it is missing (empty: the current one). A file
// with the same bytes counts as saved. One SavedChart for each file. A failure names the file and
// leaves what was saved before it.
Result<std::vector<SavedChart>> save_charts(std::span<const Chart> charts,
                                            const std::filesystem::path& folder,
                                            std::string_view title, Existing existing,
                                            const ChartPage* page);

// Whether files could be made in the folder, or it could be made; makes nothing. For before a run whose
// charts are to be saved there (empty: the current folder).
Status check_chart_folder(const std::filesystem::path& folder);

// What of a title can stand in a file's name: letters, digits and . _ - of it, any other run of
// characters as one '-'; never empty, never with a leading dot or dash, at most 100 bytes.
std::string file_stem(std::string_view title);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_CHART_FILES_H_
