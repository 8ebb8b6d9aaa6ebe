#include "core/base/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace berth {

namespace {
// Fetched once: OpenSSL looks an algorithm up anew with every EVP_sha256(), which costs more than the
// digest of a short text.
const EVP_MD* algorithm() {
  static EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA2-256", nullptr);
  return fetched;
}
}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* raw = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(raw); }
};

// OpenSSL fails here only when it is broken or out of memory: a broken invariant, not an outcome.
Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (context_->raw == nullptr || EVP_DigestInit_ex(context_->raw, algorithm(), nullptr) != 1)
    throw std::runtime_error("openssl cannot start a sha-256 digest");
}

Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  if (EVP_DigestUpdate(context_->raw, bytes.data(), bytes.size()) != 1)
    throw std::runtime_error("openssl cannot continue a sha-256 digest");
}

std::string Sha256::finish_hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(context_->raw, digest.data(), &size) != 1)
    throw std::runtime_error("openssl cannot finish a sha-256 digest");
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(std::size_t{size} * 2);
  for (unsigned int i = 0; i < size; ++i) {
    text.push_back(kDigits[digest[i] >> 4]);
    text.push_back(kDigits[digest[i] & 15]);
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.finish_hex();
}

}  // namespace berth
