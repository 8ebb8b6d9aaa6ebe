# cmake -DINPUT=CONTRACT.md -DOUTPUT=contract_page.cc -P embed_contract.cmake
# The contract's page as a string of C++: what `explain` says is what the page says.
file(READ "${INPUT}" page)
file(WRITE "${OUTPUT}" "// Made by embed_contract.cmake.
#include <string_view>

namespace berth::conformance {

std::string_view contract_page();
std::string_view contract_page() {
  return R\"BERTH(${page})BERTH\";
}

}  // namespace berth::conformance
")
