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

namespace c {
std::string_view cmakelists_txt();
std::string_view hello_c();
std::string_view shell_c();
std::string_view shell_h();
}  // namespace c

namespace rust {
std::string_view cmakelists_txt();
std::string_view abi_rs();
std::string_view entry_c();
std::string_view hello_rs();
std::string_view shell_rs();
}  // namespace rust

}  // namespace berth::cli::template_files

#endif  // BERTH_TOOLS_BERTH_TEMPLATE_FILES_H_
