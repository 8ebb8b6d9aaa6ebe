#include "plugins/http/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "plugins/http/url.h"

namespace berth::http {

void wipe(std::string& text) {
  if (!text.empty()) OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

Secret::Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { wipe(other.text_); }

Secret& Secret::operator=(const Secret& other) {
  if (this != &other) {
    wipe(text_);
    text_ = other.text_;
  }
  return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    wipe(text_);
    text_ = std::move(other.text_);
    wipe(other.text_);
  }
  return *this;
}

Secret::~Secret() { wipe(text_); }

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (unsigned int i = 0; i < size; ++i) {
    out.push_back(kDigits[digest[i] >> 4]);
    out.push_back(kDigits[digest[i] & 15]);
  }
  return out;
}

std::string fingerprint(const Secret& secret) { return sha256_hex(secret.reveal()); }

void Redactor::add(const Secret& secret) {
  if (secret.reveal().size() < kBytesMin) return;
  forms_.push_back(secret);
  std::string encoded = percent_encode(secret.reveal());
  if (encoded != secret.reveal()) forms_.emplace_back(std::move(encoded));
  // The longest first, so that one secret that contains another goes whole.
  std::sort(forms_.begin(), forms_.end(),
            [](const Secret& a, const Secret& b) { return a.reveal().size() > b.reveal().size(); });
}

std::string Redactor::operator()(std::string_view text) const {
  std::string out(text);
  for (const Secret& form : forms_) {
    constexpr std::string_view kInstead = "***";
    for (auto at = out.find(form.reveal()); at != std::string::npos;
         at = out.find(form.reveal(), at + kInstead.size()))
      out.replace(at, form.reveal().size(), kInstead);
  }
  return out;
}

}  // namespace berth::http
