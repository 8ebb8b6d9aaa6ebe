// Numbers in foreign text.
#ifndef BERTH_CORE_EXECUTION_INSTALL_READ_NUMBER_H_
#define BERTH_CORE_EXECUTION_INSTALL_READ_NUMBER_H_

#include <charconv>
#include <string_view>
#include <system_error>

namespace berth {

// False unless the whole text is one number that fits.
template <class T>
bool read_number(std::string_view text, T& into, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_INSTALL_READ_NUMBER_H_
