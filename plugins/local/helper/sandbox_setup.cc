#include "helper/sandbox_setup.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "helper/clocks.h"
#include "helper/landlock.h"
#include "helper/layers.h"
#include "helper/root_tree.h"
#include "helper/syscall_filter.h"

namespace berth::local {
namespace {

int take_identity(const Create& request) {
  // The kernel is asked itself: the C library changes every thread, and knows those of a template here.
  const unsigned long id = request.inner_id;
  if (request.privileged != 0 && syscall(SYS_setgroups, 0UL, nullptr) != 0) return errno;
  if (syscall(SYS_setresgid, id, id, id) != 0) return errno;
  if (syscall(SYS_setresuid, id, id, id) != 0) return errno;
  // Changing identity makes a process undumpable, and then its own files in /proc are not its own.
  // Until the end of the set-up, when no program runs yet, that is only in the way.
  return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 ? errno : 0;
}

int raise_loopback() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
  const int error = ioctl(fd, SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
  close(fd);
  return error;
}

// Without the layer, programs have what the user namespace gives its first process.
int keep_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) != 0) return errno;
  for (__user_cap_data_struct& half : data) half.inheritable = half.permitted;
  if (syscall(SYS_capset, &header, data) != 0) return errno;
  for (unsigned long capability = 0; capability < 64; ++capability) {
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
  }
  return 0;
}

constexpr std::uint64_t kChangeIdentity = (1u << CAP_SETUID) | (1u << CAP_SETGID);

int install_filter(FilterOf whose) {
  static SyscallFilter filter;
  if (!build_syscall_filter(whose, &filter)) return E2BIG;
  sock_fprog program{static_cast<unsigned short>(filter.size), filter.code};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0 ? errno : 0;
}

class Walls {
 public:
  explicit Walls(std::uint32_t skipped) : skipped_(skipped) {}

  bool wants(Layer layer) const { return good() && wanted(skipped_, layer); }
  bool good() const { return result_.failure.error == 0; }

  void done(Layer layer, int error, const char* doing) {
    if (error != 0) {
      result_.failure = make_failure(layer, error, doing);
    } else {
      result_.layers |= bit(layer);
    }
  }

  SetupResult& result() { return result_; }

 private:
  std::uint32_t skipped_;
  SetupResult result_;
};

void build_tree(const Create& request, Walls* walls) {
  const RootTree tree{request.disk_bytes, request.disk_inodes, request.inner_id, request.host_name,
                      request.is_template != 0};
  const RootTreeError error = enter_root_tree(tree);
  walls->done(Layer::kMount, error.error, error.doing);
}

void close_privileges(const Create& request, Walls* walls) {
  if (walls->wants(Layer::kCapabilities)) {
    // A template makes each user namespace as the identity it is for, whom the kernel then asks for all
    // it counts by user, and may become any of its range for that.
    const bool becomes = request.is_template != 0 && request.privileged != 0;
    walls->done(Layer::kCapabilities, drop_capabilities(becomes ? kChangeIdentity : 0),
                "dropping every capability");
  } else if (walls->good()) {
    keep_capabilities();
  }
  if (walls->wants(Layer::kLandlock)) {
    const int level = landlock_level();
    walls->done(Layer::kLandlock, level < 0 ? -level : confine_with_landlock(level),
                "confining files and sockets");
    if (walls->good()) walls->result().landlock_abi = static_cast<std::uint32_t>(level);
  }
  if (walls->wants(Layer::kSeccomp)) {
    const FilterOf whose = request.is_template != 0 ? FilterOf::kTemplate : FilterOf::kSandbox;
    walls->done(Layer::kSeccomp, install_filter(whose), "installing the system call filter");
  }
}

}  // namespace

int drop_capabilities(std::uint64_t kept) {
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  const auto low = static_cast<std::uint32_t>(kept);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (kept != 0) {
    if (syscall(SYS_capget, &header, data) != 0) return errno;
    data[0].inheritable = low;
    if (syscall(SYS_capset, &header, data) != 0) return errno;
  }
  for (unsigned long capability = 0; capability < 64; ++capability) {
    if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) < 0) break;
    const bool keep = (kept & (std::uint64_t{1} << capability)) != 0;
    const int done = keep ? prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0)
                          : prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    if (done != 0) return errno;
  }
  if (prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) != 0) return errno;
  const __user_cap_data_struct left[2]{{low, low, low}, {0, 0, 0}};
  if (syscall(SYS_capset, &header, left) != 0) return errno;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? errno : 0;
}

int join_groups(const int* groups, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (write(groups[i], "0", 1) != 1) return errno;
  }
  return 0;
}

LayerFailure make_failure(Layer layer, int error, const char* doing) {
  LayerFailure failure{};
  failure.layer = layer;
  failure.error = error;
  std::snprintf(failure.text, sizeof(failure.text), "%s: %s", doing, std::strerror(error));
  return failure;
}

SetupResult set_up_sandbox(const Create& request) {
  Walls walls(request.skipped_layers);
  if (walls.wants(Layer::kUser)) {
    walls.done(Layer::kUser, take_identity(request), "taking the identity of the sandbox");
  }
  if (walls.wants(Layer::kMount)) build_tree(request, &walls);
  if (walls.wants(Layer::kPid)) {
    walls.done(Layer::kPid, getpid() == 1 ? 0 : EINVAL, "being process 1");
  }
  if (walls.wants(Layer::kUts)) {
    const std::size_t size = strnlen(request.host_name, sizeof(request.host_name));
    walls.done(Layer::kUts, sethostname(request.host_name, size) == 0 ? 0 : errno,
               "naming the host");
  }
  if (walls.wants(Layer::kNet)) {
    walls.done(Layer::kNet, raise_loopback(), "raising the loopback interface");
  }
  if (walls.wants(Layer::kIpc)) walls.done(Layer::kIpc, 0, "");
  if (walls.wants(Layer::kTime)) {
    walls.done(Layer::kTime, enter_time_namespace(request.clocks), "setting the clocks of the sandbox");
  }
  if (walls.wants(Layer::kCgroupNamespace)) {
    walls.done(Layer::kCgroupNamespace, unshare(CLONE_NEWCGROUP) == 0 ? 0 : errno,
               "entering a control group namespace");
  }
  if (walls.wants(Layer::kCgroup)) walls.done(Layer::kCgroup, 0, "");
  // Every command sets its own.
  if (walls.wants(Layer::kRlimit)) walls.done(Layer::kRlimit, 0, "");
  if (walls.good()) close_privileges(request, &walls);
  // From here on nothing of the same identity can trace the init or read its memory or descriptors.
  if (walls.wants(Layer::kDescriptors)) {
    walls.done(Layer::kDescriptors, prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : errno,
               "making the init untraceable");
  }
  return walls.result();
}

}  // namespace berth::local
