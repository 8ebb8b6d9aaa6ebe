// The built library through the binary contract, as a host uses it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "berth/testing/fake_host.hpp"
#include "machine.h"

namespace berth::local {
namespace {

using testing::FakeHost;

class Library {
 public:
  static berth_provider_entry_fn entry() {
    static void* const handle = dlopen(BERTH_LOCAL_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle, nullptr) << dlerror();
    if (handle == nullptr) std::abort();
    return reinterpret_cast<berth_provider_entry_fn>(dlsym(handle, BERTH_ENTRY_SYMBOL));
  }
};

class Opened {
 public:
  Opened() : host_(Library::entry()) {
    char path[] = "/tmp/berth-local-test-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    state_dir_ = path;
    const auto answer = host_.open("{}", state_dir_);
    EXPECT_TRUE(answer.done()) << answer.message;
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    EXPECT_TRUE(host_.shutdown().done());
    EXPECT_TRUE(host_.violations().empty()) << host_.violations().front();
    std::filesystem::remove_all(state_dir_);
  }
  FakeHost& host() { return host_; }

 private:
  FakeHost host_;
  std::string state_dir_;
};

TEST(LocalProvider, CarriesAProgramThroughItsWholeLife) {
  Opened opened;
  FakeHost& host = opened.host();
  const std::string name = Machine::fresh_name("berth");
  const auto created = host.create(name);
  ASSERT_TRUE(created.done()) << created.message;
  EXPECT_EQ(created.get<Created>().name, name);
  EXPECT_EQ(created.get<Created>().scope, host.scope().get<Scope>());
  const std::string ref = created.get<Created>().ref;
  const std::string source = "import sys\nprint(sys.stdin.read().upper())\n";
  ASSERT_TRUE(host.put_file(ref, "/workspace/main.py", source).done());
  const auto ran = host.run(ref, {.argv = {"python3", "main.py"}, .input = "hello"});
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "HELLO\n");
  EXPECT_EQ(host.get_file(ref, "/workspace/main.py").file, source);
  EXPECT_EQ(host.create(name).get<Created>().ref, ref) << "the same name is the same sandbox";
  EXPECT_EQ(host.lookup(name).get<Found>().presence, Presence::kPresent);
  EXPECT_EQ(host.list_owned("owner").get<ListPage>().items.size(), 1u);
  EXPECT_TRUE(host.destroy(name, ref).done());
  EXPECT_TRUE(host.destroy(name).done());
  EXPECT_EQ(host.lookup(name).get<Found>().presence, Presence::kAbsentNow);
  EXPECT_EQ(host.fence(name).get<Found>().presence, Presence::kAbsentFenced);
  EXPECT_EQ(host.create(name).outcome_class, OutcomeClass::kRejected);
}

TEST(LocalProvider, ASlowReaderGetsEverythingInOrder) {
  Opened opened;
  FakeHost& host = opened.host();
  const std::string name = Machine::fresh_name("berth");
  const std::string ref = host.create(name).get<Created>().ref;
  host.behave({.pause_every_bytes = 100'000, .input_chunk_bytes = 1000, .input_arrives_late = true});
  std::string input;
  for (int i = 0; i < 60'000; ++i) input += std::to_string(i) + "\n";
  EXPECT_EQ(host.run(ref, {.argv = {"cat"}, .input = input}).out, input);
  EXPECT_TRUE(host.destroy(name).done());
}

TEST(LocalProvider, ShutdownEndsNoSandbox) {
  const std::string name = Machine::fresh_name("berth");
  char path[] = "/tmp/berth-local-test-XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  FakeHost first(Library::entry());
  ASSERT_TRUE(first.open("{}", path).done());
  ASSERT_TRUE(first.create(name).done());
  ASSERT_TRUE(first.shutdown().done());
  EXPECT_EQ(StateStore(path).liveness(name), Liveness::kAlive);
  FakeHost host(Library::entry());
  ASSERT_TRUE(host.open("{}", path).done());
  EXPECT_EQ(host.lookup(name).get<Found>().state, SandboxState::kReady);
  EXPECT_TRUE(host.destroy(name).done());
  EXPECT_EQ(StateStore(path).liveness(name), Liveness::kDead);
  EXPECT_TRUE(host.shutdown().done());
  std::filesystem::remove_all(path);
}

TEST(LocalProvider, TheProbeNamesEveryLayerAndTheBasePackages) {
  Opened opened;
  const auto answer = opened.host().probe();
  ASSERT_TRUE(answer.done()) << answer.message;
  const ProbeReport& report = answer.get<ProbeReport>();
  EXPECT_TRUE(report.usable);
  std::vector<std::string> missing;
  for (const char* wanted : {"user", "pid", "mount", "net", "ipc", "uts", "cgroupns", "time", "capabilities",
                             "seccomp", "landlock", "cgroup", "rlimit", "descriptors", "python3", "node",
                             "matplotlib", "pandas", "numpy", "sympy", "fonts", "sandbox", "startup"}) {
    const bool good = std::any_of(report.items.begin(), report.items.end(),
                                  [&](const ProbeItem& item) { return item.name == wanted && item.ok; });
    if (!good) missing.push_back(wanted);
  }
  EXPECT_EQ(missing, std::vector<std::string>());
  for (const ProbeItem& item : report.items) EXPECT_EQ(item.ok, item.remedy.empty()) << item.name;
}

TEST(LocalProvider, ConfigurationThatDoesNotFitIsRefusedByKey) {
  char path[] = "/tmp/berth-local-test-XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  FakeHost host(Library::entry());
  host.set_config("acceptMissingLayers", R"(["mount"])");
  const auto answer = host.open("{}", path);
  EXPECT_EQ(answer.outcome_class, OutcomeClass::kRejected);
  EXPECT_NE(answer.message.find("acceptMissingLayers"), std::string::npos);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace berth::local
