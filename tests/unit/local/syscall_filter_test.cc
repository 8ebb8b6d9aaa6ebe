#include "helper/syscall_filter.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstring>
#include <set>
#include <vector>

#include "helper/syscall_list.h"

namespace berth::local {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kHere = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kThirtyTwoBit = AUDIT_ARCH_I386;
#else
constexpr std::uint32_t kHere = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kThirtyTwoBit = AUDIT_ARCH_ARM;
#endif

// The kernel's interpreter of classic BPF, as far as the filter uses it.
std::uint32_t decide(const SyscallFilter& filter, const seccomp_data& data,
                     std::size_t* steps = nullptr) {
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < filter.size;) {
    const sock_filter& one = filter.code[at++];
    if (steps != nullptr) ++*steps;
    switch (one.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + one.k, sizeof(accumulator));
        break;
      case BPF_ALU | BPF_AND | BPF_K: accumulator &= one.k; break;
      case BPF_JMP | BPF_JA: at += one.k; break;
      case BPF_JMP | BPF_JEQ | BPF_K: at += accumulator == one.k ? one.jt : one.jf; break;
      case BPF_JMP | BPF_JGE | BPF_K: at += accumulator >= one.k ? one.jt : one.jf; break;
      case BPF_RET | BPF_K: return one.k;
      default: ADD_FAILURE() << "an instruction the filter should not have"; return 0;
    }
  }
  ADD_FAILURE() << "the program runs off its end";
  return 0;
}

class LocalSyscallFilter : public ::testing::Test {
 protected:
  LocalSyscallFilter() {
    EXPECT_TRUE(build_syscall_filter(FilterOf::kSandbox, &filter_));
    EXPECT_TRUE(build_syscall_filter(FilterOf::kTemplate, &of_template_));
  }

  std::uint32_t answer(std::uint64_t number, std::vector<std::uint64_t> arguments = {},
                       std::uint32_t architecture = kHere) const {
    seccomp_data data{};
    data.nr = static_cast<int>(number);
    data.arch = architecture;
    for (std::size_t i = 0; i < arguments.size(); ++i) data.args[i] = arguments[i];
    return decide(filter_, data);
  }
  std::uint32_t answer_to_template(std::uint64_t number) const {
    seccomp_data data{};
    data.nr = static_cast<int>(number);
    data.arch = kHere;
    return decide(of_template_, data);
  }

  static constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
  static constexpr std::uint32_t refuse(int error) {
    return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
  }

  SyscallFilter filter_;
  SyscallFilter of_template_;
};

TEST_F(LocalSyscallFilter, ATemplateMayDoWhatMakesSandboxesAndNothingElseBeyondThem) {
  int makes = 0;
  for (const SyscallEntry& entry : kSyscalls) {
    if (entry.verdict == Verdict::kMake) {
      ++makes;
      EXPECT_EQ(answer(entry.number), refuse(EPERM)) << "call " << entry.number;
      EXPECT_EQ(answer_to_template(entry.number), kAllow) << "call " << entry.number;
    } else if (entry.verdict == Verdict::kAllow || entry.verdict == Verdict::kRefuse) {
      EXPECT_EQ(answer_to_template(entry.number), answer(entry.number)) << "call " << entry.number;
    }
  }
  EXPECT_GT(makes, 0);
}

TEST_F(LocalSyscallFilter, EveryNumberGetsTheVerdictOfTheListAndTheRestIsUnknown) {
  std::set<std::uint32_t> decided_by_arguments;
  std::vector<std::uint32_t> expected(2048, refuse(ENOSYS));
  for (const SyscallEntry& entry : kSyscalls) {
    ASSERT_LT(entry.number, expected.size());
    if (entry.verdict == Verdict::kAllow) {
      expected[entry.number] = kAllow;
    } else if (entry.verdict == Verdict::kRefuse || entry.verdict == Verdict::kMake) {
      expected[entry.number] = refuse(EPERM);
    } else if (entry.verdict == Verdict::kNothing) {
      expected[entry.number] = refuse(0);
    } else if (entry.verdict != Verdict::kUnknown) {
      decided_by_arguments.insert(entry.number);
    }
  }
  for (std::uint32_t number = 0; number < expected.size(); ++number) {
    if (decided_by_arguments.contains(number)) continue;
    ASSERT_EQ(answer(number), expected[number]) << "call " << number;
  }
  EXPECT_EQ(answer(0xffffffffu), refuse(ENOSYS));
}

TEST_F(LocalSyscallFilter, OtherArchitecturesGetNothing) {
  for (std::uint32_t number = 0; number < 512; ++number) {
    ASSERT_EQ(answer(number, {}, kThirtyTwoBit), refuse(ENOSYS));
    ASSERT_EQ(answer(number | 0x40000000u), refuse(ENOSYS)) << "x32";
  }
}

TEST_F(LocalSyscallFilter, CloneMakesProcessesAndNoNamespaces) {
  EXPECT_EQ(answer(SYS_clone, {CLONE_VM | CLONE_THREAD | CLONE_SIGHAND}), kAllow);
  for (const int flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
                         CLONE_NEWPID, CLONE_NEWNET}) {
    EXPECT_EQ(answer(SYS_clone, {static_cast<std::uint64_t>(flag) | 17u}), refuse(EPERM));
  }
}

TEST_F(LocalSyscallFilter, SocketsArePlain) {
  EXPECT_EQ(answer(SYS_socket, {AF_UNIX, SOCK_SEQPACKET, 0}), kAllow);
  for (const int each : {AF_INET, AF_INET6}) {
    const auto family = static_cast<std::uint64_t>(each);
    EXPECT_EQ(answer(SYS_socket, {family, SOCK_STREAM | SOCK_CLOEXEC, 6}), kAllow);
    EXPECT_EQ(answer(SYS_socket, {family, SOCK_DGRAM | SOCK_NONBLOCK, 17}), kAllow);
    EXPECT_EQ(answer(SYS_socket, {family, SOCK_RAW, 0}), refuse(EPERM));
    EXPECT_EQ(answer(SYS_socket, {family, SOCK_STREAM, 262}), refuse(EPERM));
  }
  for (std::uint64_t family = 3; family < 64; ++family) {
    if (family != AF_INET6) {
      EXPECT_EQ(answer(SYS_socket, {family, SOCK_DGRAM, 0}), refuse(EAFNOSUPPORT)) << family;
    }
  }
  EXPECT_EQ(answer(SYS_socket, {AF_INET | (1ull << 32), SOCK_STREAM, 0}), refuse(EAFNOSUPPORT));
  EXPECT_EQ(answer(SYS_socketpair, {AF_UNIX}), kAllow);
  EXPECT_EQ(answer(SYS_socketpair, {AF_INET}), refuse(EAFNOSUPPORT));
}

TEST_F(LocalSyscallFilter, TerminalRequestsAreSeenThroughHighBits) {
  EXPECT_EQ(answer(SYS_ioctl, {0, 0x5401}), kAllow);
  for (const std::uint64_t request : {0x5412ull, 0x541cull, 0x541dull}) {
    EXPECT_EQ(answer(SYS_ioctl, {0, request}), refuse(EPERM));
    EXPECT_EQ(answer(SYS_ioctl, {0, request | (1ull << 32)}), refuse(EPERM));
  }
}

TEST_F(LocalSyscallFilter, LimitsOfOtherProcessesAreOutOfReach) {
  EXPECT_EQ(answer(SYS_prlimit64, {0}), kAllow);
  EXPECT_EQ(answer(SYS_prlimit64, {1}), refuse(EPERM));
  EXPECT_EQ(answer(SYS_seccomp, {1, 0}), kAllow);
  EXPECT_EQ(answer(SYS_seccomp, {1, SECCOMP_FILTER_FLAG_NEW_LISTENER}), refuse(EPERM));
  EXPECT_EQ(answer(SYS_personality, {0x0040000}), refuse(EPERM));
  EXPECT_EQ(answer(SYS_personality, {0xffffffff}), kAllow);
}

TEST_F(LocalSyscallFilter, TheProgramIsATreeAndNotALine) {
  EXPECT_LT(filter_.size, 700u);
  std::size_t longest = 0;
  for (std::uint32_t number = 0; number < 512; ++number) {
    seccomp_data data{};
    data.nr = static_cast<int>(number);
    data.arch = kHere;
    std::size_t steps = 0;
    decide(filter_, data, &steps);
    longest = std::max(longest, steps);
  }
  EXPECT_LT(longest, 40u);
}

}  // namespace
}  // namespace berth::local
