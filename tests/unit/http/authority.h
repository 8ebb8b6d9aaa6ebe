// A certificate authority made while a test runs, and what it signs.
#ifndef BERTH_TESTS_UNIT_HTTP_AUTHORITY_H_
#define BERTH_TESTS_UNIT_HTTP_AUTHORITY_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

namespace berth::http::tests {

struct Identity {
  std::shared_ptr<X509> certificate;
  std::shared_ptr<EVP_PKEY> key;
};

class Authority {
 public:
  Authority();
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  // Where its own certificate lies, in PEM.
  const std::string& file() const { return file_; }
  // `names` as OpenSSL writes them: "DNS:localhost,IP:127.0.0.1". Valid until now + `valid_for`.
  Identity issue(const std::string& names = "DNS:localhost,IP:127.0.0.1",
                 std::chrono::seconds valid_for = std::chrono::hours(1)) const;

 private:
  Identity self_;
  std::string file_;
};

}  // namespace berth::http::tests

#endif  // BERTH_TESTS_UNIT_HTTP_AUTHORITY_H_
