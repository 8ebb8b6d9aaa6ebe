// The lock file, signatures, the host's configuration and the quarantine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/json.h"
#include "core/os/fd.h"
#include "core/registry/config_schema.h"
#include "core/registry/configuration.h"
#include "core/registry/lock_file.h"
#include "core/registry/quarantine.h"

namespace berth::registry {
namespace {

using testing::HasSubstr;

const std::string kDigest(64, 'a');
// RFC 8032, 7.1, test 1: the seed and its public key.
constexpr char kSeed[] = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
constexpr char kPublic[] = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

LockFile lock_of(const std::string& digest, const std::string& key = {}, const std::string& signature = {}) {
  LockFile lock;
  lock.present = true;
  lock.providers["local"] = {"1.0.0", digest, key, signature};
  return lock;
}

std::string clauses(const LockFile& lock, const HostConfiguration& configuration) {
  Findings findings;
  check_trust(lock, configuration, "local", "1.0.0", kDigest, findings);
  std::string out;
  for (const Finding& finding : findings) out += finding.clause + " ";
  return out;
}

TEST(Trust, TheDigestOfTheLockFileIsTheOneThatIsLoaded) {
  EXPECT_EQ(clauses(lock_of(kDigest), {}), "");
  EXPECT_EQ(clauses(lock_of(std::string(64, 'b')), {}), "TRUST-001 ");
  EXPECT_EQ(clauses({}, {}), "");
  HostConfiguration strict;
  strict.require_lock = true;
  EXPECT_EQ(clauses({}, strict), "TRUST-001 ");
}

TEST(Trust, TheSignatureIsThatOfThePublishedVector) {
  const auto signature = sign_ed25519(kSeed, "");
  ASSERT_TRUE(signature.has_value());
  EXPECT_EQ(*signature,
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b4"
            "6bd25bf5f0595bbe24655141438e7a100b");
  EXPECT_TRUE(verify_ed25519(kPublic, *signature, ""));
  EXPECT_FALSE(verify_ed25519(kPublic, *signature, "x"));
  EXPECT_FALSE(verify_ed25519(kPublic, "nonsense", ""));
}

TEST(Trust, ASignatureIsAskedForAndChecked) {
  HostConfiguration strict;
  strict.require_signature = true;
  strict.trusted_keys["release"] = kPublic;
  const std::string good = sign_ed25519(kSeed, signed_text("local", "1.0.0", kDigest)).value();
  const std::string other = sign_ed25519(kSeed, signed_text("local", "1.0.1", kDigest)).value();
  EXPECT_EQ(clauses(lock_of(kDigest, "release", good), strict), "");
  EXPECT_EQ(clauses(lock_of(kDigest, "release", other), strict), "TRUST-002 ");
  EXPECT_EQ(clauses(lock_of(kDigest, "stranger", good), strict), "TRUST-002 ");
  EXPECT_EQ(clauses(lock_of(kDigest), strict), "TRUST-002 ");
  // A signature that is there is checked even where none is asked for.
  EXPECT_EQ(clauses(lock_of(kDigest, "release", good), {}), "TRUST-002 ");
}

TEST(Trust, ALockFileIsReadStrictly) {
  const auto lock = parse_lock_file(fmt::format(
      R"({{"lockVersion":1,"providers":{{"local":{{"version":"1.0.0","sha256":"{}","signature":{{"key":"k","ed25519":"00"}}}}}}}})",
      kDigest));
  ASSERT_TRUE(lock.has_value()) << lock.error().message();
  EXPECT_EQ(lock->providers.at("local").key_id, "k");
  for (const char* text : {"[]", R"({"lockVersion":2,"providers":{}})", R"({"lockVersion":1})",
                           R"({"lockVersion":1,"providers":{"x":{"version":"1","sha256":"short"}}})"})
    EXPECT_FALSE(parse_lock_file(text).has_value()) << text;
  EXPECT_FALSE(load_lock_file("/nowhere/lock.json")->present);
}

TEST(Configuration, SaysWhatIsGrantedAndHow) {
  const auto parsed = parse_configuration(
      R"({"requireLock":true,"providers":{"local":{"hosting":"in-process","grants":["gpu"],
          "acceptMissingLayers":["cgroup"],"config":{"python":"/usr/bin/python3"}}}})");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message();
  const auto local = parsed->of("local");
  EXPECT_EQ(local.hosting, Hosting::kInProcess);
  EXPECT_TRUE(local.grants_capability("gpu"));
  EXPECT_FALSE(local.grants_capability("ports"));
  EXPECT_TRUE(parsed->of("other").grants_capability("ports"));
  EXPECT_EQ(parsed->of("other").hosting, Hosting::kWorker);
}

TEST(Configuration, WhatItDoesNotKnowItRefusesWithThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"provider":{}})", "configuration.provider is not a setting"},
      {R"({"providers":{"a":{"hosting":"elsewhere"}}})", "configuration.providers.a.hosting must be"},
      {R"({"providers":{"a":{"file":"relative.so"}}})", "configuration.providers.a.file must be absolute"},
      {R"({"providers":{"a":{"grants":[1]}}})", "configuration.providers.a.grants must be a list"},
      {R"({"providers":{"a":7}})", "configuration.providers.a must be an object"}};
  for (const auto& [text, part] : cases) {
    const auto parsed = parse_configuration(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_THAT(parsed.error().message(), HasSubstr(part));
  }
}

TEST(Configuration, AcceptedLayersJoinTheProvidersOwnConfiguration) {
  Manifest manifest;
  manifest.id = "local";
  manifest.config_schema = parse_json(R"({"type":"object","additionalProperties":false,"properties":
      {"acceptMissingLayers":{"type":"array","items":{"type":"string"}}}})")->as_object();
  ProviderConfiguration own;
  own.accepted_missing_layers = {"cgroup", "seccomp"};
  own.config["acceptMissingLayers"] = boost::json::array{"seccomp"};
  EXPECT_EQ(open_configuration(manifest, own).value(), R"({"acceptMissingLayers":["seccomp","cgroup"]})");
  own.config["colour"] = 1;
  EXPECT_THAT(open_configuration(manifest, own).error().message(),
              HasSubstr("config.colour is not a setting of this provider"));
  manifest.config_schema.clear();
  EXPECT_FALSE(open_configuration(manifest, own).has_value());
}

TEST(ConfigSchema, ChecksWhatItKnowsAndRefusesWhatItDoesNot) {
  struct Case {
    const char* schema;
    const char* value;
    bool fits;
  };
  const Case cases[] = {
      {R"({"type":"object"})", "{}", true},
      {R"({"type":"integer","minimum":1,"maximum":3})", "2", true},
      {R"({"type":"integer","minimum":1,"maximum":3})", "4", false},
      {R"({"type":"integer"})", "\"2\"", false},
      {R"({"type":["string","null"]})", "null", true},
      {R"({"enum":["a","b"]})", "\"c\"", false},
      {R"({"const":7})", "7", true},
      {R"({"type":"array","items":{"type":"string"},"uniqueItems":true,"maxItems":2})", R"(["a","b"])", true},
      {R"({"type":"array","items":{"type":"string"},"uniqueItems":true})", R"(["a","a"])", false},
      {R"({"type":"array","minItems":1})", "[]", false},
      {R"({"type":"string","minLength":2,"maxLength":3})", "\"äöü\"", true},
      {R"({"type":"string","maxLength":2})", "\"äöü\"", false},
      {R"({"type":"object","required":["a"]})", "{}", false},
      {R"({"type":"object","additionalProperties":{"type":"integer"}})", R"({"a":1})", true},
      {R"({"type":"object","additionalProperties":{"type":"integer"}})", R"({"a":"1"})", false},
      {R"({"$ref":"#/$defs/x","$defs":{"x":{"type":"integer"}}})", "1", true},
      {R"({"$ref":"#/$defs/x","$defs":{"x":{"$ref":"#/$defs/x"}}})", "1", false},
      {R"({"$ref":"#/$defs/y","$defs":{}})", "1", false},
      {R"({"type":"string","pattern":"^a"})", "\"a\"", false}};
  for (const Case& one : cases) {
    const auto schema = parse_json(one.schema);
    const auto faults = schema_faults(schema->as_object(), parse_json(one.value).value(), "config");
    EXPECT_EQ(faults.empty(), one.fits) << one.schema << " " << one.value;
    for (const std::string& fault : faults) EXPECT_THAT(fault, HasSubstr("config"));
  }
}

TEST(Quarantine, CountsToThreeAndForgetsAfterASuccess) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("berth-quarantine-test-{}.json", ::getpid());
  Quarantine quarantine(file);
  const WallTime now = wall_time_from_unix_ms(1700000000000);
  EXPECT_EQ(quarantine.record_crash(kDigest, "local", "why", now)->crashes, 1u);
  EXPECT_EQ(quarantine.record_crash(kDigest, "local", "why", now)->crashes, 2u);
  EXPECT_TRUE(quarantine.record_success(kDigest).has_value());
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(quarantine.record_crash(kDigest, "local", "why", now)->quarantined);
  EXPECT_TRUE(quarantine.record_crash(kDigest, "local", "last", now)->quarantined);
  EXPECT_TRUE(quarantine.record_success(kDigest).has_value());
  Quarantine other(file);
  ASSERT_EQ(other.list().size(), 1u);
  EXPECT_EQ(other.list()[0].reason, "last");
  EXPECT_TRUE(other.list()[0].quarantined);
  EXPECT_TRUE(other.lift(kDigest).has_value());
  EXPECT_FALSE(quarantine.find(kDigest).has_value());
  EXPECT_FALSE(other.lift(kDigest).has_value());
  std::filesystem::remove(file);
}

TEST(Quarantine, AReasonIsCutWithoutDamagingTheFile) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("berth-quarantine-cut-{}.json", ::getpid());
  Quarantine quarantine(file);
  const std::string reason = std::string(999, 'x') + "\u00e9 and what it printed: \xff";
  ASSERT_TRUE(quarantine.record_crash(kDigest, "local", reason, wall_time_from_unix_ms(1)).has_value());
  Quarantine other(file);
  ASSERT_TRUE(other.find(kDigest).has_value());
  EXPECT_EQ(other.find(kDigest)->reason.substr(0, 999), reason.substr(0, 999));
  std::filesystem::remove(file);
}

TEST(Quarantine, ADamagedFileSaysNothingAndIsReplaced) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("berth-quarantine-bad-{}.json", ::getpid());
  ASSERT_TRUE(os::replace_file(file, "{\"entries\":[7,{\"sha256\":1}]", 0600).has_value());
  Quarantine quarantine(file);
  EXPECT_TRUE(quarantine.list().empty());
  EXPECT_TRUE(quarantine.record_crash(kDigest, "local", "why", wall_time_from_unix_ms(1)).has_value());
  EXPECT_EQ(Quarantine(file).list().size(), 1u);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace berth::registry
