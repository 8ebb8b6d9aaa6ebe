// The packages that programs may take for granted.
#ifndef BERTH_CORE_EXECUTION_INSTALL_BASE_PACKAGES_H_
#define BERTH_CORE_EXECUTION_INSTALL_BASE_PACKAGES_H_

#include <string>
#include <string_view>
#include <vector>

namespace berth::install {

bool is_base_package(std::string_view name);
// Those whose name follows `import` or `from` somewhere in the source. It may name one too many (in a
// string, say), never one too few of those imported by a plain statement.
std::vector<std::string> imported_base_packages(std::string_view code);

}  // namespace berth::install

#endif  // BERTH_CORE_EXECUTION_INSTALL_BASE_PACKAGES_H_
