#include "helper/probes.h"

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "helper/landlock.h"
#include "helper/namespaces.h"
#include "helper/sandbox_setup.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

namespace berth::local {
namespace {

// 0, or the errno of making these namespaces or of what `action` does in them.
int try_in_child(std::uint64_t flags, int (*action)()) {
  int pidfd = -1;
  const pid_t child = clone_process(flags, -1, &pidfd);
  if (child == 0) _exit(action());
  if (child < 0) return errno;
  close(pidfd);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

int do_nothing() { return 0; }

// A system may hand out namespaces and then refuse every use of them.
int change_mounts() {
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ? errno : 0;
}

int filter_calls() {
  sock_filter allow[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  sock_fprog program{1, allow};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0 ? errno : 0;
}

int limit_resources() {
  const rlimit tiny{1, 1};
  return setrlimit(RLIMIT_CORE, &tiny) != 0 ? errno : 0;
}

int close_descriptors() {
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return errno;
  return syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) != 0 ? errno : 0;
}

}  // namespace

pid_t clone_process(std::uint64_t flags, int unified_folder, int* pidfd) {
  clone_args arguments{};
  arguments.flags = flags | CLONE_PIDFD;
  arguments.exit_signal = SIGCHLD;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(pidfd);
  if (unified_folder >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<std::uint64_t>(unified_folder);
  }
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
}

int try_namespace(std::uint64_t flag) { return try_in_child(CLONE_NEWUSER | flag, do_nothing); }

void probe_layers(Probed* answer) {
  const auto set = [&](Layer layer, int error) {
    answer->layers[static_cast<std::uint32_t>(layer)].error = error;
  };
  set(Layer::kUser, try_namespace(0));
  for (const NamespaceFlag& item : kClonedNamespaces) set(item.layer, try_namespace(item.flag));
  set(Layer::kMount, try_in_child(CLONE_NEWUSER | CLONE_NEWNS, change_mounts));
  set(Layer::kCgroupNamespace, try_namespace(CLONE_NEWCGROUP));
  set(Layer::kTime, try_namespace(CLONE_NEWTIME));
  set(Layer::kCapabilities, try_in_child(CLONE_NEWUSER, [] { return drop_capabilities(0); }));
  set(Layer::kSeccomp, try_in_child(0, filter_calls));
  set(Layer::kRlimit, try_in_child(0, limit_resources));
  set(Layer::kDescriptors, try_in_child(0, close_descriptors));
  const int level = landlock_level();
  set(Layer::kLandlock, level < 0 ? -level : 0);
  if (level > 0) {
    answer->layers[static_cast<std::uint32_t>(Layer::kLandlock)].level =
        static_cast<std::uint32_t>(level);
  }
}

}  // namespace berth::local
