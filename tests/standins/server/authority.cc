#include "tests/standins/server/authority.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <memory>

namespace berth::standins {
namespace {

template <auto Free>
struct Freeing {
  template <class T>
  void operator()(T* value) const {
    Free(value);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freeing<X509_free>>;
using Bio = std::unique_ptr<BIO, Freeing<BIO_free>>;

constexpr long kHourSeconds = 3600;
constexpr long kDaySeconds = 24 * kHourSeconds;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string pem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  return PEM_write_bio_X509(bio.get(), certificate) == 1 ? text_of(bio.get()) : std::string();
}

std::string pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  const int written = PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return written == 1 ? text_of(bio.get()) : std::string();
}

bool extend(X509* certificate, X509* issuer, int what, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value);
  const bool good = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return good;
}

// Everything of a certificate but its extensions and its signature.
Certificate begin_certificate(EVP_PKEY* key, const char* name, X509* issuer) {
  Certificate made(X509_new());
  std::uint64_t serial = 0;
  if (!made || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) != 1) return nullptr;
  X509_NAME* subject = X509_get_subject_name(made.get());
  const bool good = X509_set_version(made.get(), X509_VERSION_3) == 1 &&
                    ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial | 1) == 1 &&
                    X509_gmtime_adj(X509_getm_notBefore(made.get()), -kHourSeconds) != nullptr &&
                    X509_gmtime_adj(X509_getm_notAfter(made.get()), 30 * kDaySeconds) != nullptr &&
                    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0) == 1 &&
                    X509_set_issuer_name(made.get(), issuer == nullptr
                                                         ? subject
                                                         : X509_get_subject_name(issuer)) == 1 &&
                    X509_set_pubkey(made.get(), key) == 1;
  return good ? std::move(made) : nullptr;
}

}  // namespace

Result<Certificates> make_certificates() {
  const Key authority_key(EVP_EC_gen("P-256"));
  const Key key(EVP_EC_gen("P-256"));
  const Certificate authority = begin_certificate(authority_key.get(), "Berth stand-in authority", nullptr);
  const bool vouches = authority && extend(authority.get(), authority.get(), NID_basic_constraints, "critical,CA:TRUE") &&
                       extend(authority.get(), authority.get(), NID_key_usage, "critical,keyCertSign") &&
                       extend(authority.get(), authority.get(), NID_subject_key_identifier, "hash") &&
                       X509_sign(authority.get(), authority_key.get(), EVP_sha256()) != 0;
  if (!vouches) return fail(ErrorKind::kInternal, "no authority could be made");
  const Certificate own = begin_certificate(key.get(), "localhost", authority.get());
  const bool signed_for =
      own && extend(own.get(), authority.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      extend(own.get(), authority.get(), NID_ext_key_usage, "serverAuth") &&
      extend(own.get(), authority.get(), NID_authority_key_identifier, "keyid") &&
      extend(own.get(), authority.get(), NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1") &&
      X509_sign(own.get(), authority_key.get(), EVP_sha256()) != 0;
  if (!signed_for) return fail(ErrorKind::kInternal, "no certificate could be made");
  return Certificates{pem(authority.get()), pem(own.get()), pem(key.get())};
}

}  // namespace berth::standins
