// SHA-256 through OpenSSL, as lowercase hexadecimal.
#ifndef BERTH_CORE_BASE_SHA256_H_
#define BERTH_CORE_BASE_SHA256_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace berth {

// 64 lowercase hexadecimal characters. Any thread.
std::string sha256_hex(std::string_view bytes);

// The same for data that arrives in pieces. One thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::string_view bytes);
  // Ends the digest; update must not be called afterwards.
  std::string finish_hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace berth

#endif  // BERTH_CORE_BASE_SHA256_H_
