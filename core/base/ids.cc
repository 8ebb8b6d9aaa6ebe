#include "core/base/ids.h"

#include <sys/random.h>

#include <stdexcept>

namespace berth {

std::string random_hex(std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string raw(bytes, '\0');
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = getrandom(raw.data() + done, bytes - done, 0);
    if (got < 0) throw std::runtime_error("the kernel gives no random bytes");
    done += static_cast<std::size_t>(got);
  }
  std::string text;
  text.reserve(bytes * 2);
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

}  // namespace berth
