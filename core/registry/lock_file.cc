#include "core/registry/lock_file.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <memory>

#include "core/base/json.h"
#include "core/os/fd.h"
#include "core/os/folder.h"
#include "core/registry/clauses.h"

namespace berth::registry {
namespace {

namespace json = boost::json;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

const unsigned char* raw(const std::string& bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// Empty unless `text` is exactly `bytes` bytes in lowercase hexadecimal.
std::string from_hex(std::string_view text, std::size_t bytes) {
  if (text.size() != bytes * 2 || !is_hex(text)) return {};
  std::string out;
  const auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i < text.size(); i += 2)
    out.push_back(static_cast<char>(nibble(text[i]) * 16 + nibble(text[i + 1])));
  return out;
}

Result<LockEntry> parse_entry(const json::object& object, const std::string& path) {
  LockEntry entry;
  BERTH_TRY(entry.version, json_string(object, "version", path));
  BERTH_TRY(entry.sha256, json_string(object, "sha256", path));
  if (entry.sha256.size() != 64 || !is_hex(entry.sha256))
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("{}.sha256 must be 64 lowercase hexadecimal characters", path));
  if (!object.contains("signature")) return entry;
  BERTH_TRY(const json::object* signature, json_object(object, "signature", path));
  BERTH_TRY(entry.key_id, json_string(*signature, "key", path + ".signature"));
  BERTH_TRY(entry.signature_hex, json_string(*signature, "ed25519", path + ".signature"));
  return entry;
}

}  // namespace

Result<LockFile> parse_lock_file(std::string_view text) {
  BERTH_TRY(const json::value document, parse_json(text));
  const auto* object = document.if_object();
  if (object == nullptr)
    return fail(ErrorKind::kInvalidArgument, "the lock file must be a json object");
  BERTH_TRY(const std::int64_t version, json_int(*object, "lockVersion", "lock"));
  if (version != 1)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("lock.lockVersion is {}; this host reads 1", version));
  BERTH_TRY(const json::object* providers, json_object(*object, "providers", "lock"));
  LockFile lock;
  lock.present = true;
  for (const auto& member : *providers) {
    const std::string path = fmt::format("lock.providers.{}", std::string_view(member.key()));
    BERTH_TRY(const json::object* one, json_object(*providers, member.key(), "lock.providers"));
    BERTH_TRY(LockEntry entry, parse_entry(*one, path));
    lock.providers.emplace(member.key(), std::move(entry));
  }
  return lock;
}

Result<LockFile> load_lock_file(const std::filesystem::path& file) {
  BERTH_CHECK_OK(os::check_no_dangling_link(file));
  const auto text = os::read_file(file, std::size_t{1} << 20);
  if (!text && text.error().kind() == ErrorKind::kNotFound) return LockFile{};
  if (!text) return fail(text.error());
  auto parsed = parse_lock_file(*text);
  if (!parsed) return fail(parsed.error().with(file.string()));
  return parsed;
}

std::string signed_text(std::string_view id, std::string_view version, std::string_view sha256) {
  return canonical_json(json::object{{"id", id}, {"sha256", sha256}, {"version", version}});
}

void check_trust(const LockFile& lock, const HostConfiguration& configuration, std::string_view id,
                 std::string_view version, std::string_view sha256, Findings& findings) {
  const auto refuse = [&](const char* clause_id, std::string found, std::string remedy) {
    findings.push_back({Severity::kRefusal, clause_id, fmt::format("provider {} {}", id, version),
                        std::move(found), std::move(remedy)});
  };
  const auto found = lock.providers.find(id);
  if (found == lock.providers.end()) {
    if (configuration.require_lock || configuration.require_signature)
      refuse(clause::kDigest, "no entry for it in the lock file, which this host requires",
             "check where the file comes from, then add it to the lock file");
    return;
  }
  const LockEntry& entry = found->second;
  if (entry.sha256 != sha256 || entry.version != version)
    return refuse(clause::kDigest,
                  fmt::format("a file with sha-256 {}, while the lock file names version {} with "
                              "sha-256 {}",
                              sha256, entry.version, entry.sha256),
                  "install the locked file again, or accept this one by updating the lock file");
  if (!configuration.require_signature && entry.signature_hex.empty()) return;
  const auto key = configuration.trusted_keys.find(entry.key_id);
  if (entry.signature_hex.empty() || key == configuration.trusted_keys.end())
    return refuse(clause::kSignature,
                  entry.signature_hex.empty()
                      ? std::string("no signature in its lock entry, which this host requires")
                      : fmt::format("a signature by key \"{}\", which this host does not trust",
                                    entry.key_id),
                  "have it signed by a key listed under trustedKeys");
  if (!verify_ed25519(key->second, entry.signature_hex, signed_text(id, version, sha256)))
    refuse(clause::kSignature, fmt::format("a signature that key \"{}\" did not make", entry.key_id),
           "do not use this file before its origin is established");
}

Result<std::string> sign_ed25519(std::string_view private_key_hex, std::string_view text) {
  const std::string seed = from_hex(private_key_hex, 32);
  if (seed.empty())
    return fail(ErrorKind::kInvalidArgument,
                "an ed25519 private key must be 64 lowercase hexadecimal characters");
  const Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(seed), seed.size()));
  const Context context(EVP_MD_CTX_new());
  unsigned char signature[64];
  std::size_t size = sizeof signature;
  if (!key || !context ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature, &size, raw(text), text.size()) != 1)
    return fail(ErrorKind::kInternal, "the cryptographic library cannot sign");
  std::string out;
  for (const unsigned char byte : signature) out += fmt::format("{:02x}", byte);
  return out;
}

bool verify_ed25519(std::string_view public_key_hex, std::string_view signature_hex,
                    std::string_view text) {
  const std::string key_bytes = from_hex(public_key_hex, 32);
  const std::string signature = from_hex(signature_hex, 64);
  if (key_bytes.empty() || signature.empty()) return false;
  const Key key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(key_bytes), key_bytes.size()));
  const Context context(EVP_MD_CTX_new());
  return key && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(text),
                          text.size()) == 1;
}

}  // namespace berth::registry
