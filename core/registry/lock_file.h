// The lock file: which exact files this host trusts.
#ifndef BERTH_CORE_REGISTRY_LOCK_FILE_H_
#define BERTH_CORE_REGISTRY_LOCK_FILE_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/registry/configuration.h"
#include "core/registry/finding.h"

namespace berth::registry {

struct LockEntry {
  std::string version;
  std::string sha256;         // of the file, 64 hexadecimal characters
  std::string key_id;         // empty: not signed
  std::string signature_hex;  // Ed25519 over signed_text
};

struct LockFile {
  bool present = false;  // false: there is no such file, so nothing is pinned
  std::map<std::string, LockEntry, std::less<>> providers;
};

// {"lockVersion": 1, "providers": {ID: {"version", "sha256", "signature"?: {"key", "ed25519"}}}}
Result<LockFile> parse_lock_file(std::string_view text);
Result<LockFile> load_lock_file(const std::filesystem::path& file);

// The text a signature is made over: canonical JSON of id, version and sha256.
std::string signed_text(std::string_view id, std::string_view version, std::string_view sha256);

// Compares a file's identity with the lock; appends what is wrong.
void check_trust(const LockFile& lock, const HostConfiguration& configuration, std::string_view id,
                 std::string_view version, std::string_view sha256, Findings& findings);

// 64 raw bytes as hexadecimal; `private_key_hex` is the 32-byte Ed25519 seed.
Result<std::string> sign_ed25519(std::string_view private_key_hex, std::string_view text);
bool verify_ed25519(std::string_view public_key_hex, std::string_view signature_hex,
                    std::string_view text);

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_LOCK_FILE_H_
