// Pages of an index: links to files, read from HTML that is foreign input, and written anew.
#ifndef BERTH_CORE_EXECUTION_INSTALL_PAGE_H_
#define BERTH_CORE_EXECUTION_INSTALL_PAGE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/execution/install/url.h"

namespace berth::install {

struct PageLink {
  Url url;
  std::string file_name;        // letters, digits and "._+!-~%" only
  std::string hash;             // "sha256=..." or another algorithm's; empty: none
  std::string sha256;           // 64 lowercase hexadecimal characters; empty: none
  std::string requires_python;  // decoded
  std::optional<std::string> yanked;
};

// True for the files pip installs from.
bool is_package_file(std::string_view name);
// The links to package files on `html`, found at `base`; others are left out. At most `count_max`.
std::vector<PageLink> read_page(std::string_view html, const Url& base, std::size_t count_max);
// One link as a page has it, leading to `target`.
std::string link_line(const PageLink& link, std::string_view target);

}  // namespace berth::install

#endif  // BERTH_CORE_EXECUTION_INSTALL_PAGE_H_
