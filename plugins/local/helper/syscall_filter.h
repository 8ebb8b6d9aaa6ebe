// The system call filter: an allow list for this architecture as a seccomp BPF program.
//
// What is not on the list gets an errno, never a kill: EPERM for what is known and refused, ENOSYS for
// what is unknown, because programs and C libraries have fall-backs for exactly these two. The program
// is a binary search over ranges of call numbers, since the kernel runs it once for every number when
// it is installed and a linear list of this size costs ten times as much.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_SYSCALL_FILTER_H_
#define BERTH_PLUGINS_LOCAL_HELPER_SYSCALL_FILTER_H_

#include <linux/filter.h>

#include <cstddef>

namespace berth::local {

inline constexpr std::size_t kFilterMaxInstructions = 2048;

struct SyscallFilter {
  sock_filter code[kFilterMaxInstructions];
  std::size_t size = 0;
};

// Whose filter it is. A template makes the namespaces, mounts and filters of the sandboxes forked from
// it, each of which gets the filter of a sandbox on top.
enum class FilterOf { kSandbox, kTemplate };

// Writes the program. false when it would not fit, which is a fault of the list.
bool build_syscall_filter(FilterOf whose, SyscallFilter* filter);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_SYSCALL_FILTER_H_
