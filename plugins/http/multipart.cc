#include "plugins/http/multipart.h"

#include <openssl/rand.h>

#include <array>
#include <stdexcept>

namespace berth::http {
namespace {

// Quotes and line ends would end the name; browsers escape them so.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"')
      out += "%22";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else
      out.push_back(c);
  }
  return "\"" + out + "\"";
}

}  // namespace

MultipartForm::MultipartForm() : boundary_("berth-") {
  std::array<unsigned char, 16> random{};
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1)
    throw std::runtime_error("no random bytes for the boundary of a form");
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const unsigned char byte : random) {
    boundary_.push_back(kDigits[byte >> 4]);
    boundary_.push_back(kDigits[byte & 15]);
  }
}

std::string MultipartForm::field(std::string_view name, std::string_view value) const {
  return "--" + boundary_ + "\r\nContent-Disposition: form-data; name=" + quoted(name) +
         "\r\n\r\n" + std::string(value) + "\r\n";
}

std::string MultipartForm::file_head(std::string_view name, std::string_view file_name,
                                     std::string_view content_type) const {
  return "--" + boundary_ + "\r\nContent-Disposition: form-data; name=" + quoted(name) +
         "; filename=" + quoted(file_name) + "\r\nContent-Type: " + std::string(content_type) +
         "\r\n\r\n";
}

}  // namespace berth::http
