// Machines that lack a layer: it is named, refused, and done without only where the configuration says so.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>

#include "machine.h"

namespace berth::local {
namespace {

TEST(Layers, AMissingLayerIsNamedAndRefusedUntilItIsAccepted) {
  Config config = default_config();
  config.cgroup_parent = "/nowhere/that/exists";
  Machine strict(config);
  const auto refusal = failure_of([&] { strict.sandbox(); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->outcome_class(), OutcomeClass::kRejected);
  EXPECT_EQ(refusal->code(), Code::kUnsupported);
  EXPECT_NE(refusal->message().find("layer cgroup is missing"), std::string::npos) << refusal->message();
  EXPECT_TRUE(strict.allocations().list_owned("owner", "").items.empty());

  config.accepted_missing = bit(Layer::kCgroup);
  Machine lenient(config);
  const auto sandbox = lenient.sandbox();
  EXPECT_EQ(shell(*sandbox, "echo fine").out, "fine\n");
  const auto record = StateStore(lenient.state_dir()).read(sandbox->name());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->layers.find("cgroup,"), std::string::npos);
  EXPECT_NE(record->layers.find("seccomp"), std::string::npos);
}


// From here on this process and what it starts cannot make such a namespace.
bool forgo_namespace(const char* limit) {
  const std::string user = std::to_string(geteuid());
  const std::string group = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user + " " + user + " 1";
  std::ofstream("/proc/self/gid_map") << group + " " + group + " 1";
  return static_cast<bool>(std::ofstream(std::string("/proc/sys/user/") + limit) << "0" << std::flush);
}

// From here on the kernel does not know this call.
bool forgo_call(long number) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct Missing {
  Layer layer;
  const char* limit = nullptr;  // of namespaces of this kind
  long call = -1;               // that the layer needs
};

const Missing kMissing[] = {
    {Layer::kUser, "max_user_namespaces"},
    {Layer::kPid, "max_pid_namespaces"},
    {Layer::kMount, "max_mnt_namespaces"},
    {Layer::kNet, "max_net_namespaces"},
    {Layer::kIpc, "max_ipc_namespaces"},
    {Layer::kUts, "max_uts_namespaces"},
    {Layer::kCgroupNamespace, "max_cgroup_namespaces"},
    {Layer::kTime, "max_time_namespaces"},
    {Layer::kCapabilities, nullptr, SYS_capset},
    {Layer::kSeccomp, nullptr, SYS_seccomp},
    {Layer::kLandlock, nullptr, SYS_landlock_create_ruleset},
    {Layer::kRlimit, nullptr, SYS_prlimit64},
    {Layer::kDescriptors, nullptr, SYS_close_range},
};

// What a create says on a machine without the layer, with its absence accepted or not.
std::string answer_without(const Missing& missing, std::uint32_t accepted) {
  const Pipe pipe = make_pipe();
  const pid_t child = fork();
  if (child == 0) {
    std::string said = "the layer could not be taken away";
    if (missing.limit != nullptr ? forgo_namespace(missing.limit) : forgo_call(missing.call)) {
      Config config = default_config();
      config.accepted_missing = accepted;
      Machine machine(config);
      const auto refusal = failure_of([&] {
        const auto sandbox = machine.sandbox();
        said = "made with " + StateStore(machine.state_dir()).read(sandbox->name())->layers + ", and " +
               shell(*sandbox, "echo works").out;
      });
      if (refusal) said = refusal->message();
    }
    _exit(write_fully(pipe.write.get(), said + "\n"));
  }
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  char text[1024] = {};
  EXPECT_GT(read(pipe.read.get(), text, sizeof(text) - 1), 0);
  return text;
}

TEST(Layers, EveryLayerThatTheKernelLacksIsNamedAndRefused) {
  for (const Missing& missing : kMissing) {
    const std::string wanted = "the isolation layer " + std::string(layer_name(missing.layer)) + " is missing: ";
    EXPECT_TRUE(answer_without(missing, 0).starts_with(wanted)) << answer_without(missing, 0);
  }
}

TEST(Layers, ALayerWhoseAbsenceIsAcceptedIsMissingFromTheRecordAndNothingElse) {
  for (const Layer layer : {Layer::kSeccomp, Layer::kLandlock}) {
    const auto missing = std::find_if(std::begin(kMissing), std::end(kMissing),
                                      [&](const Missing& one) { return one.layer == layer; });
    const std::uint32_t all = (1u << kLayerCount) - 1;
    EXPECT_EQ(answer_without(*missing, bit(layer)),
              "made with " + layer_names(all & ~bit(layer)) + ", and works\n\n");
  }
}

TEST(Layers, NoCallerLeavesOutALayerThatASandboxCannotDoWithout) {
  for (const Layer layer : {Layer::kUser, Layer::kPid, Layer::kMount, Layer::kCapabilities,
                            Layer::kRlimit, Layer::kDescriptors}) {
    Config config = default_config();
    config.left_out = bit(layer);
    config.accepted_missing = bit(layer);
    Machine machine(config);
    const auto refusal = failure_of([&] { machine.sandbox(); });
    ASSERT_TRUE(refusal) << layer_name(layer);
    EXPECT_NE(refusal->message().find("what no sandbox can do without"), std::string::npos)
        << refusal->message();
  }
}

}  // namespace
}  // namespace berth::local
