// What the tests of the provider share: a stand-in of the service, and the provider's own file,
// opened by the SDK's fake host. Every breach of the contract that host sees fails the test.
#ifndef BERTH_TESTS_UNIT_VERCEL_PROVIDER_FIXTURE_H_
#define BERTH_TESTS_UNIT_VERCEL_PROVIDER_FIXTURE_H_

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "berth/testing/fake_host.hpp"
#include "tests/standins/support/stand_in.h"

namespace berth::vercel::tests {

using berth::testing::Answer;
using berth::testing::CreateRequest;
using berth::testing::FakeHost;
using berth::testing::RunRequest;
using ::testing::HasSubstr;
using ::testing::Not;

inline constexpr const char* kToken = "vcp_very-secret-token";
inline constexpr const char* kCreate = "POST /v3/sandboxes";
inline constexpr const char* kLook = "GET /v2/sandboxes/{name}";
inline constexpr const char* kDelete = "DELETE /v2/sandboxes/{name}";
inline constexpr const char* kStop = "POST /v2/sandboxes/sessions/{session}/stop";
inline constexpr const char* kRun = "POST /v2/sandboxes/sessions/{session}/cmd";

inline berth_provider_entry_fn entry() {
  static const berth_provider_entry_fn found = [] {
    void* library = ::dlopen(BERTH_VERCEL_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    return reinterpret_cast<berth_provider_entry_fn>(::dlsym(library, BERTH_ENTRY_SYMBOL));
  }();
  return found;
}

class ProviderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "berth-vercel-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directories(folder_ / "state");
    service_ = standins::StandIn::start(BERTH_STANDIN, "vercel", folder_ / "service");
  }
  void TearDown() override {
    if (host_) close(*host_);
    service_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string config(const std::string& more = "") const {
    return R"({"apiUrl":")" + service_->url() + R"(/api","caFile":")" + service_->authority() +
           R"(","pollFirstMs":5,"pollMostMs":50)" + more + "}";
  }
  static void give_credentials(FakeHost& host, const std::string& token = kToken) {
    host.set_secret("VERCEL_TOKEN", token);
    host.set_secret("VERCEL_TEAM_ID", "team_a");
    host.set_secret("VERCEL_PROJECT_ID", "prj_a");
    for (const char* name :
         {"VERCEL_OIDC_TOKEN", "VERCEL_SANDBOX_API_URL", "VERCEL_SANDBOX_IMAGE_PYTHON",
          "VERCEL_SANDBOX_IMAGE_JAVASCRIPT", "HTTPS_PROXY", "NO_PROXY"})
      host.declare_secret(name);
  }
  // The provider, open.
  FakeHost& host() {
    if (!host_) {
      host_ = std::make_unique<FakeHost>(entry());
      give_credentials(*host_);
      const Answer opened = host_->open(config(), (folder_ / "state").string());
      if (!opened.done()) throw std::runtime_error("not opened: " + opened.message);
    }
    return *host_;
  }
  static void close(FakeHost& host) {
    EXPECT_TRUE(host.shutdown().done());
    for (const std::string& violation : host.violations()) ADD_FAILURE() << violation;
    for (const std::string& line : host.log_lines()) EXPECT_THAT(line, Not(HasSubstr(kToken)));
  }

  // A sandbox that must come to be; its reference.
  std::string made(const std::string& name = "berth-1") {
    const Answer answer = host().create(name);
    EXPECT_TRUE(answer.done()) << answer.message;
    return answer.get<Created>().ref;
  }
  Answer run(const std::string& ref, std::vector<std::string> argv) {
    return host().run(ref, {.argv = std::move(argv)});
  }
  Answer shell(const std::string& ref, const std::string& script) {
    return run(ref, {"sh", "-c", script});
  }
  Presence look(const std::string& name) { return host().lookup(name).get<Found>().presence; }
  void fault(const std::string& endpoint, const std::string& more) {
    service_->faults(R"([{"endpoint": ")" + endpoint + R"(", )" + more + "}]");
  }
  static std::string answers(int status, const std::string& code, const std::string& message) {
    return R"("do": "answer", "status": )" + std::to_string(status) +
           R"(, "type": "application/json", "body": "{\"error\":{\"code\":\")" + code +
           R"(\",\"message\":\")" + message + R"(\"}}")";
  }

  std::filesystem::path folder_;
  std::unique_ptr<standins::StandIn> service_;

 private:
  std::unique_ptr<FakeHost> host_;
};

#define EXPECT_OUTCOME(answer, how, why)                                                    \
  do {                                                                                      \
    const berth::testing::Answer& seen = (answer);                                          \
    EXPECT_EQ(static_cast<int>(seen.outcome_class), static_cast<int>(how)) << seen.message; \
    EXPECT_EQ(static_cast<int>(seen.code), static_cast<int>(why)) << seen.message;          \
    EXPECT_THAT(seen.message, Not(HasSubstr(kToken)));                                      \
  } while (false)

}  // namespace berth::vercel::tests

#endif  // BERTH_TESTS_UNIT_VERCEL_PROVIDER_FIXTURE_H_
