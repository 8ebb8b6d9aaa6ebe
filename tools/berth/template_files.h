// The SDK's template as this binary carries it: one function for each file of sdk/template.
#ifndef BERTH_TOOLS_BERTH_TEMPLATE_FILES_H_
#define BERTH_TOOLS_BERTH_TEMPLATE_FILES_H_

#include <string_view>

namespace berth::cli::template_files {

// Of every language.
std::string_view readme_md();
std::string_view hello_json();
std::string_view hello_sh();
std::string_view hello_test_cc();

namespace cxx {
std::string_view cmakelists_txt();
std::string_view hello_cc();
}  // namespace cxx

}  // namespace berth::cli::template_files

#endif  // BERTH_TOOLS_BERTH_TEMPLATE_FILES_H_
