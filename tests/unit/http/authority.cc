#include "tests/unit/http/authority.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>

namespace berth::http::tests {
namespace {

void require(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("making a certificate: ") + what);
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  require(extension != nullptr, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Identity blank(const std::string& name, std::chrono::seconds valid_for) {
  static std::atomic<long> serial{1};
  const std::string unique = name + " " + std::to_string(serial);
  Identity out;
  out.key.reset(EVP_EC_gen("P-256"), EVP_PKEY_free);
  out.certificate.reset(X509_new(), X509_free);
  require(out.key && out.certificate, "key");
  X509* const certificate = out.certificate.get();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  constexpr long kDay = 86'400;
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), static_cast<long>(valid_for.count()));
  X509_set_pubkey(certificate, out.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(unique.c_str()), -1, -1, 0);
  return out;
}

}  // namespace

Authority::Authority() : self_(blank("test authority", std::chrono::hours(24))) {
  X509* const own = self_.certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(own, own, NID_subject_key_identifier, "hash");
  require(X509_sign(own, self_.key.get(), EVP_sha256()) != 0, "signature");
  std::string path = (std::filesystem::temp_directory_path() / "berth-authority-XXXXXX").string();
  const int fd = ::mkstemp(path.data());
  require(fd >= 0, "file");
  std::FILE* const out = ::fdopen(fd, "w");
  PEM_write_X509(out, own);
  std::fclose(out);
  file_ = path;
}

Authority::~Authority() { std::filesystem::remove(file_); }

Identity Authority::issue(const std::string& names, std::chrono::seconds valid_for) const {
  Identity out = blank("test server", valid_for);
  X509* const certificate = out.certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(self_.certificate.get()));
  extend(certificate, self_.certificate.get(), NID_basic_constraints, "CA:FALSE");
  extend(certificate, self_.certificate.get(), NID_subject_alt_name, names);
  require(X509_sign(certificate, self_.key.get(), EVP_sha256()) != 0, "signature");
  return out;
}

}  // namespace berth::http::tests
