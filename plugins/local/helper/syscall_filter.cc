#include "helper/syscall_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "helper/syscall_list.h"

namespace berth::local {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the local provider has a system call list for x86_64 and aarch64 only"
#endif

constexpr std::uint32_t kX32Bit = 0x40000000u;
constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kDone = SECCOMP_RET_ERRNO;
constexpr std::uint32_t kEperm = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kEinval = SECCOMP_RET_ERRNO | EINVAL;
constexpr std::uint32_t kEnosys = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::uint32_t kEnoprotoopt = SECCOMP_RET_ERRNO | ENOPROTOOPT;
constexpr std::uint32_t kEafnosupport = SECCOMP_RET_ERRNO | EAFNOSUPPORT;

constexpr std::size_t kEntryCount = sizeof(kSyscalls) / sizeof(kSyscalls[0]);
// CLONE_NEWTIME shares its bit with the exit signal of clone and means nothing there.
constexpr std::uint32_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                          CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr std::uint32_t kTcpLevel = 6;
constexpr std::uint32_t kTcpUpperProtocol = 31;  // TCP_ULP
constexpr std::uint32_t kWatchFolder = 1026;  // F_NOTIFY; a kernel without it says EINVAL

struct Range {
  std::uint32_t first;
  Verdict verdict;
};

// Little-endian halves of a 64-bit argument.
constexpr std::uint32_t argument_low(std::uint32_t index) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args)) + index * 8;
}
constexpr std::uint32_t argument_high(std::uint32_t index) { return argument_low(index) + 4; }

class Builder {
 public:
  Builder(FilterOf whose, SyscallFilter* filter)
      : makes_sandboxes_(whose == FilterOf::kTemplate), filter_(*filter) {}

  bool fits() const { return fits_; }

  void load(std::uint32_t offset) { emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset); }
  void mask(std::uint32_t bits) { emit(BPF_ALU | BPF_AND | BPF_K, 0, 0, bits); }
  void answer(std::uint32_t action) { emit(BPF_RET | BPF_K, 0, 0, action); }
  void answer_if_equal(std::uint32_t value, std::uint32_t action) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    answer(action);
  }
  void answer_unless_equal(std::uint32_t value, std::uint32_t action) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
    answer(action);
  }
  void answer_if_at_least(std::uint32_t value, std::uint32_t action) {
    emit(BPF_JMP | BPF_JGE | BPF_K, 0, 1, value);
    answer(action);
  }

  // Searches ranges[from, to) for the number in the accumulator.
  void search(const Range* ranges, std::size_t from, std::size_t to) {
    if (to - from == 1) {
      decide(ranges[from].verdict);
      return;
    }
    const std::size_t middle = from + (to - from) / 2;
    emit(BPF_JMP | BPF_JGE | BPF_K, 0, 1, ranges[middle].first);
    const std::size_t jump = filter_.size;
    emit(BPF_JMP | BPF_JA, 0, 0, 0);
    search(ranges, from, middle);
    if (fits_) filter_.code[jump].k = static_cast<std::uint32_t>(filter_.size - jump - 1);
    search(ranges, middle, to);
  }

 private:
  void emit(int code, std::uint8_t on_true, std::uint8_t on_false, std::uint32_t k) {
    if (filter_.size == kFilterMaxInstructions) {
      fits_ = false;
      return;
    }
    filter_.code[filter_.size++] =
        sock_filter{static_cast<std::uint16_t>(code), on_true, on_false, k};
  }

  void decide(Verdict verdict) {
    switch (verdict) {
      case Verdict::kUnknown: return answer(kEnosys);
      case Verdict::kAllow: return answer(kAllow);
      case Verdict::kRefuse: return answer(kEperm);
      case Verdict::kNothing: return answer(kDone);
      case Verdict::kMake: return answer(makes_sandboxes_ ? kAllow : kEperm);
      case Verdict::kClone: return decide_clone();
      case Verdict::kFcntl:
        load(argument_low(1));
        answer_if_equal(kWatchFolder, kEinval);
        return answer(kAllow);
      case Verdict::kIoctl: return decide_ioctl();
      case Verdict::kSocket: return decide_socket();
      case Verdict::kSocketPair:
        load(argument_low(0));
        answer_unless_equal(AF_UNIX, kEafnosupport);
        return answer(kAllow);
      case Verdict::kSetOption:
        load(argument_low(1));
        emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, kTcpLevel);
        answer(kAllow);
        load(argument_low(2));
        answer_if_equal(kTcpUpperProtocol, kEnoprotoopt);
        return answer(kAllow);
      case Verdict::kPersonality:
        load(argument_low(0));
        answer_if_equal(0, kAllow);
        answer_if_equal(0xffffffffu, kAllow);
        return answer(kEperm);
      case Verdict::kPrctl:
        load(argument_low(0));
        answer_if_equal(PR_SET_MM, kEperm);
        answer_if_equal(PR_SET_PTRACER, kEperm);
        if (!makes_sandboxes_) answer_if_equal(PR_SET_SECUREBITS, kEperm);
        return answer(kAllow);
      case Verdict::kPrlimit:
        load(argument_low(0));
        answer_unless_equal(0, kEperm);
        return answer(kAllow);
      case Verdict::kSeccompCall:
        load(argument_low(1));
        mask(SECCOMP_FILTER_FLAG_NEW_LISTENER);
        answer_unless_equal(0, kEperm);
        return answer(kAllow);
    }
  }

  void decide_clone() {
    if (makes_sandboxes_) return answer(kAllow);
    load(argument_low(0));
    mask(kNamespaceFlags);
    answer_unless_equal(0, kEperm);
    answer(kAllow);
  }

  // The kernel takes the request as 32 bits, so bits above must not make it look like another one.
  void decide_ioctl() {
    constexpr std::uint32_t kTerminalInput = 0x5412;     // TIOCSTI
    constexpr std::uint32_t kTerminalSelection = 0x541C;  // TIOCLINUX
    constexpr std::uint32_t kTerminalConsole = 0x541D;    // TIOCCONS
    load(argument_low(1));
    answer_if_equal(kTerminalInput, kEperm);
    answer_if_equal(kTerminalSelection, kEperm);
    answer_if_equal(kTerminalConsole, kEperm);
    answer(kAllow);
  }

  void decide_socket() {
    constexpr std::uint32_t kTypeMask = 0xf;
    load(argument_high(0));
    answer_unless_equal(0, kEafnosupport);
    load(argument_low(0));
    answer_if_equal(AF_UNIX, kAllow);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, AF_INET);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_INET6);
    answer(kEafnosupport);
    load(argument_low(2));  // the protocol: the ordinary one of the type alone
    emit(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 0);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 6);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 17);
    answer(kEperm);
    load(argument_low(1));
    mask(kTypeMask);
    answer_if_equal(SOCK_STREAM, kAllow);
    answer_if_equal(SOCK_DGRAM, kAllow);
    answer(kEperm);
  }

  const bool makes_sandboxes_;
  SyscallFilter& filter_;
  bool fits_ = true;
};

void sort_by_number(SyscallEntry* entries, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    const SyscallEntry entry = entries[i];
    std::size_t at = i;
    for (; at > 0 && entries[at - 1].number > entry.number; --at) entries[at] = entries[at - 1];
    entries[at] = entry;
  }
}

// Neighbours with one simple verdict become one range; gaps between entries are ranges of unknown.
std::size_t make_ranges(const SyscallEntry* entries, std::size_t count, Range* ranges) {
  std::size_t made = 0;
  std::uint32_t next = 0;
  const auto add = [&](std::uint32_t first, Verdict verdict) {
    if (made > 0 && ranges[made - 1].verdict == verdict) return;
    ranges[made++] = Range{first, verdict};
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (entries[i].number > next) add(next, Verdict::kUnknown);
    add(entries[i].number, entries[i].verdict);
    next = entries[i].number + 1;
  }
  add(next, Verdict::kUnknown);
  return made;
}

}  // namespace

bool build_syscall_filter(FilterOf whose, SyscallFilter* filter) {
  SyscallEntry entries[kEntryCount];
  for (std::size_t i = 0; i < kEntryCount; ++i) entries[i] = kSyscalls[i];
  sort_by_number(entries, kEntryCount);
  for (std::size_t i = 1; i < kEntryCount; ++i) {
    if (entries[i].number == entries[i - 1].number) return false;
  }
  Range ranges[2 * kEntryCount + 1];
  const std::size_t count = make_ranges(entries, kEntryCount, ranges);

  filter->size = 0;
  Builder builder(whose, filter);
  builder.load(static_cast<std::uint32_t>(offsetof(seccomp_data, arch)));
  builder.answer_unless_equal(kArchitecture, kEnosys);
  builder.load(static_cast<std::uint32_t>(offsetof(seccomp_data, nr)));
#if defined(__x86_64__)
  builder.answer_if_at_least(kX32Bit, kEnosys);
#endif
  builder.search(ranges, 0, count);
  return builder.fits();
}

}  // namespace berth::local
