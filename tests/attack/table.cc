#include "table.h"

#include <initializer_list>
#include <sstream>

#include "config.h"
#include "scenes.h"

namespace berth::attack {
namespace {

using local::Layer;

constexpr std::uint32_t all_of(std::initializer_list<Layer> layers) {
  std::uint32_t bits = 0;
  for (const Layer layer : layers) bits |= bit(layer);
  return bits;
}

// Without a root of its own a sandbox has no folders for Landlock to name, so the two go together.
constexpr std::uint32_t kRoot = all_of({Layer::kMount, Layer::kLandlock});
// What makes a program the root of the host.
constexpr std::uint32_t kPowers = all_of({Layer::kUser, Layer::kCapabilities});

// Long because it is the table: an entry for every attack.
const std::vector<Probe>& table() {
  static const std::vector<Probe> kTable = {
      {.number = 1, .title = "read secrets of other processes", .stopped_by = kRoot, .program = "read_secrets",
       .attempts = {{"secrets in /proc/*/{environ,cmdline}", "none", "seen"},
                    {"/proc/1/root/etc/shadow", "ENOENT"},
                    {"/proc/1/environ", "ENOENT"}}},
      {.number = 2, .title = "trace the init and read its memory",
       .stopped_by = all_of({Layer::kSeccomp, Layer::kDescriptors}), .program = "trace_init",
       .attempts = {{"process_vm_readv", "EPERM", "done"},
                    {"process_vm_writev", "EPERM", "done"},
                    {"pidfd_getfd", "EPERM", "done"},
                    {"kcmp", "EPERM", "done"},
                    {"ptrace", "EPERM", "done"}}},
      {.number = 3, .title = "overwrite the program the sandbox runs on",
       .stopped_by = kRoot | bit(Layer::kDescriptors), .program = "overwrite_own_image",
       .attempts = {{"open /proc/self/exe to write", "ETXTBSY"},
                    {"open /proc/1/exe to write", "ENOENT"},
                    {"the image of the init", "not to be found", "reached"}}},
      {.number = 4, .title = "find a descriptor of the host's", .stopped_by = bit(Layer::kDescriptors),
       .program = "count_descriptors",
       .attempts = {{"descriptors beside the three streams", "none", "some"},
                    {"working folder", "inside the root"}}},
      {.number = 5, .title = "set what the kernel runs as root", .stopped_by = kRoot | bit(Layer::kUser),
       .program = "open_kernel_knobs", .twin = Twin::kTakesRoot,
       .attempts = {{"/proc/sys/kernel/core_pattern", "EROFS|EACCES", "done"},
                    {"/proc/sysrq-trigger", "EACCES|ENOENT", "done", "ENOENT"},
                    {"/proc/sys/kernel/modprobe", "EROFS|EACCES|ENOENT", "done", "ENOENT"},
                    {"/sys/kernel/uevent_helper", "ENOENT", "done", "ENOENT"}}},
      {.number = 6, .title = "take a mask off", .stopped_by = kRoot, .program = "undo_masks",
       .attempts = {{"replace /dev/null", "EROFS"},
                    {"move a mask away", "EXDEV|EPERM|EACCES|EROFS"},
                    {"/proc/interrupts", "empty", "tells"},
                    {"/proc/softirqs", "empty", "tells"},
                    {"/proc/zoneinfo", "empty", "tells"}}},
      {.number = 7, .title = "gain privileges by exec", .stopped_by = kRoot | kPowers,
       .program = "raise_privileges", .twin = Twin::kTakesRoot,
       .attempts = {{"file capability", "EPERM|EOPNOTSUPP", "done"},
                    {"identity after a set-user-ID exec", "the same", "another"},
                    {"capabilities after it", "none"}}},
      {.number = 8, .title = "make and enter namespaces", .stopped_by = bit(Layer::kSeccomp),
       .program = "make_namespaces",
       .attempts = {{"unshare", "EPERM", "done"},
                    {"clone", "EPERM", "done"},
                    {"clone3", "ENOSYS", "done"},
                    {"setns", "EPERM", "done"}}},
      {.number = 9, .title = "change mounts and roots",
       .stopped_by = all_of({Layer::kSeccomp, Layer::kCapabilities, Layer::kLandlock}),
       .program = "change_mounts",
       .attempts = {{"mount", "EPERM", "done"},
                    {"umount2", "EPERM", "done"},
                    {"fsopen", "EPERM", "done"},
                    {"fsconfig", "EPERM", "done"},
                    {"fsmount", "EPERM", "done"},
                    {"move_mount", "EPERM", "done"},
                    {"open_tree", "EPERM", "done"},
                    {"mount_setattr", "EPERM", "done"},
                    {"pivot_root", "EPERM", "ENOENT"},
                    {"chroot", "EPERM", "done"}}},
      {.number = 10, .title = "climb out of the root", .stopped_by = kRoot, .program = "climb_out",
       .attempts = {{"chroot", "EPERM"},
                    {"the host's file above ..", "ENOENT", "done"},
                    {"the host's file from a kept folder", "ENOENT", "done"},
                    {"the host's file from /proc/self/root", "ENOENT", "done"}}},
      {.number = 11, .title = "open files by handle",
       .stopped_by = kPowers | all_of({Layer::kSeccomp, Layer::kLandlock}), .program = "open_by_handle",
       .twin = Twin::kTakesRoot,
       .attempts = {{"name_to_handle_at", "EPERM", "done"},
                    {"open_by_handle_at", "EPERM", "done", "EOPNOTSUPP|ESTALE"}}},
      {.number = 12, .title = "make and open devices", .stopped_by = kRoot | kPowers,
       .program = "use_devices", .twin = Twin::kTakesRoot,
       .attempts = {{"mknod of a character device", "EACCES|EPERM", "done"},
                    {"mknod of a block device", "EACCES|EPERM", "done"},
                    {"/dev/kmsg", "ENOENT", "done", "ENOENT"},
                    {"/dev/fuse", "ENOENT", "done", "ENOENT|ENODEV|ENXIO"},
                    {"/dev/kvm", "ENOENT", "done", "ENOENT|ENODEV|ENXIO"},
                    {"/dev/userfaultfd", "ENOENT", "done", "ENOENT|ENODEV|ENXIO"},
                    {"/dev/sda", "ENOENT", "done", "ENOENT|ENODEV|ENXIO"}}},
      {.number = 13, .title = "become the release agent of a control group",
       .stopped_by = kPowers | all_of({Layer::kSeccomp, Layer::kLandlock, Layer::kCgroupNamespace}),
       .program = "become_release_agent", .twin = Twin::kTakesRoot,
       .attempts = {{"mount a hierarchy", "EPERM", "done", "ENODEV|EINVAL|EBUSY"},
                    {"open release_agent", "ENOENT", "done", "ENOENT"}}},
      {.number = 14, .title = "leave the control group and raise its limits",
       .stopped_by = kRoot | all_of({Layer::kUser, Layer::kCgroupNamespace}),
       .program = "leave_control_group", .twin = Twin::kTakesRoot,
       .attempts = {{"raise the own limit", "ENOENT", "done"},
                    {"make a group", "ENOENT", "done"},
                    {"join the group above", "ENOENT", "done|EBUSY"}}},
      {.number = 15, .title = "system calls that any user may make", .stopped_by = bit(Layer::kSeccomp),
       .program = "call_what_anyone_may",
       .attempts = {{"io_uring_setup", "EPERM", "done", "ENOSYS|EPERM"},
                    {"io_uring_enter", "EPERM", "EBADF"},
                    {"io_uring_register", "EPERM", "EBADF|EINVAL"},
                    {"userfaultfd", "EPERM", "done"},
                    {"add_key", "EPERM", "done"},
                    {"request_key", "EPERM", "ENOKEY"},
                    {"keyctl", "EPERM", "done"},
                    {"move_pages", "EPERM", "done"},
                    {"get_mempolicy", "EPERM", "done"},
                    {"fanotify_init", "EPERM", "done"},
                    {"memfd_secret", "EPERM", "done"},
                    {"process_madvise", "EPERM", "EBADF|EINVAL"},
                    {"process_mrelease", "EPERM", "EBADF|EINVAL"},
                    {"set_mempolicy_home_node", "EPERM", "EINVAL"}}},
      {.number = 15, .title = "system calls of the host's root", .stopped_by = kPowers | bit(Layer::kSeccomp),
       .program = "call_what_root_may", .twin = Twin::kTakesRoot,
       .attempts = {{"bpf", "EPERM", "done"},
                    {"perf_event_open", "EPERM", "done"},
                    {"kexec_load", "EPERM", "EINVAL", "ENOSYS|EPERM"},
                    {"init_module", "EPERM", "ENOEXEC|EFAULT", "ENOSYS|EPERM"},
                    {"finit_module", "EPERM", "EBADF", "ENOSYS|EPERM"},
                    {"delete_module", "EPERM", "ENOENT", "ENOSYS|EPERM"},
                    {"swapon", "EPERM", "ENOENT"},
                    {"swapoff", "EPERM", "ENOENT"},
                    {"acct", "EPERM", "ENOENT"},
                    {"quotactl", "EPERM", "ENOENT|EINVAL|ENOTBLK"},
                    {"reboot", "EPERM", "EINVAL"},
                    {"clock_settime", "EPERM", "EINVAL"},
                    {"clock_adjtime", "EPERM", "done"},
                    {"adjtimex", "EPERM", "done"},
                    {"settimeofday", "EPERM", "done"},
                    {"sethostname", "EPERM", "done"},
                    {"syslog", "EPERM", "done"},
                    {"lookup_dcookie", "EPERM", "EINVAL|EPERM"}}},
#if defined(__x86_64__)
      {.number = 16, .title = "system calls by other conventions", .stopped_by = bit(Layer::kSeccomp),
       .program = "call_by_other_conventions",
       .attempts = {{"int 0x80", "ENOSYS", "done", "SIGSEGV"},
                    {"x32", "ENOSYS", "done", "ENOSYS"},
                    {"a 32-bit program", "SIGSEGV", "done", "ENOEXEC"},
                    {"a number nobody knows", "ENOSYS"}}},
#endif
      {.number = 17, .title = "sockets other than unix, TCP and UDP",
       .stopped_by = all_of({Layer::kSeccomp, Layer::kCapabilities}), .program = "open_sockets",
       .attempts = {{"netlink route", "EAFNOSUPPORT", "done"},
                    {"netlink netfilter", "EAFNOSUPPORT", "done"},
                    {"netlink audit", "EAFNOSUPPORT", "done"},
                    {"netlink uevent", "EAFNOSUPPORT", "done"},
                    {"vsock", "EAFNOSUPPORT", "done"},
                    {"packet", "EAFNOSUPPORT", "done"},
                    {"alg", "EAFNOSUPPORT", "done"},
                    {"key", "EAFNOSUPPORT", "done"},
                    {"bluetooth", "EAFNOSUPPORT", "done"},
                    {"tipc", "EAFNOSUPPORT", "done"},
                    {"rds", "EAFNOSUPPORT", "done"},
                    {"xdp", "EAFNOSUPPORT", "done"},
                    {"raw", "EPERM", "done"},
                    {"raw over IPv6", "EPERM", "done"}}},
      {.number = 18, .title = "type into a terminal", .stopped_by = kRoot | bit(Layer::kSeccomp),
       .program = "inject_into_terminal",
       .attempts = {{"TIOCSTI", "EPERM", "done", "EIO"},
                    {"TIOCSTI with a bit above", "EPERM", "done", "EIO"},
                    {"TIOCSTI with every bit above", "EPERM", "done", "EIO"},
                    {"TIOCLINUX", "EPERM", "ENOTTY|EINVAL"},
                    {"TIOCCONS", "EPERM"}}},
      {.number = 19, .title = "rewrite an argument between check and use",
       .stopped_by = kRoot | bit(Layer::kSeccomp), .program = "race_against_checks",
       .attempts = {{"listener of system calls", "EPERM", "done"},
                    {"a path rewritten while it is opened", "stays inside", "reached the host"}}},
      {.number = 20, .title = "change the own address space and tracer", .stopped_by = bit(Layer::kSeccomp),
       .program = "change_own_process",
       .attempts = {{"personality", "EPERM", "done"},
                    {"modify_ldt", "EPERM", "done"},
                    {"PR_SET_MM", "EPERM", "done", "EINVAL|EPERM"},
                    {"PR_SET_PTRACER", "EPERM", "done", "EINVAL"},
                    {"PR_SET_SECUREBITS", "EPERM"}}},
      {.number = 21, .title = "a filter and a sandbox of the program's own",
       .stopped_by = all_of({Layer::kSeccomp, Layer::kLandlock}), .program = "nest",
       .attempts = {{"own filter", "done"},
                    {"a sandbox inside after an own filter that allows all", "EPERM", "done"}}},
      {.number = 22, .title = "lead the host's file transfer through links", .stopped_by = kRoot,
       .scene = follow_links,
       .attempts = {{"read through a link", "refused", "done"},
                    {"read through a link of many ..", "refused", "done"},
                    {"read by .. in the path", "refused", "done"},
                    {"read through /proc/self/root", "refused"},
                    {"read a pipe", "refused"},
                    {"write through a link", "refused", "done"},
                    {"write through /proc/self/root", "refused"}}},
      {.number = 23, .title = "swap a folder for a link while files are moved", .stopped_by = kRoot,
       .program = "race_file_transfer",
       .attempts = {{"a file transfer through a swapped folder", "stays inside", "reached the host"}}},
      {.number = 24, .title = "hard links and exchanges with files that may only be read",
       .stopped_by = kRoot, .program = "link_and_exchange",
       .attempts = {{"link to a file of the system", "EXDEV|EACCES|EPERM"},
                    {"link to a file of the host", "ENOENT", "done"},
                    {"link to a descriptor", "ENOENT|EXDEV|EACCES|EPERM"},
                    {"exchange with a file of the system", "EXDEV|EROFS|EACCES"},
                    {"move over a file of the system", "EXDEV|EROFS|EACCES"}}},
      {.number = 25, .title = "uploads with names and sizes that lead elsewhere", .stopped_by = kRoot,
       .scene = upload_elsewhere,
       .attempts = {{"a name with ..", "refused", "done"},
                    {"an absolute name of the system", "refused"},
                    {"a name that is not absolute", "refused"},
                    {"more bytes than announced", "refused"},
                    {"a terabyte announced", "refused"},
                    {"more bytes than the disk", "refused", "done"}}},
      {.number = 26, .title = "Landlock as the second wall: mounts",
       .stopped_by = bit(Layer::kLandlock), .without = all_of({Layer::kSeccomp, Layer::kCapabilities}),
       .program = "mount_something", .attempts = {{"mount", "EPERM", "done"}}},
      {.number = 26, .title = "Landlock as the second wall: devices and sockets",
       .stopped_by = bit(Layer::kLandlock), .without = bit(Layer::kNet), .scene = meet_landlock,
       .attempts = {{"terminal request to /dev/null", "EACCES|ENOTTY", "ENOTTY"},
                    {"abstract socket of the host", "EPERM", "done"}}},
      {.number = 26, .title = "what Landlock does not cover", .stopped_by = kRoot,
       .program = "change_what_landlock_does_not_cover", .twin = Twin::kNever,
       .reason = "the same calls on the host's /usr are refused to every user but root, whose /usr a "
                 "success would change",
       .attempts = {{"chmod /usr", "EROFS"},
                    {"chown /usr", "EROFS"},
                    {"utimensat /usr", "EROFS"},
                    {"setxattr /usr", "EROFS"},
                    {"truncate a file of the system", "EROFS|EACCES"}}},
      {.number = 27, .title = "plant what other programs of a user start", .stopped_by = kRoot,
       .scene = plant_hooks,
       .attempts = {{".bashrc", "ENOENT", "done"},
                    {".git/hooks/pre-commit", "ENOENT", "done"},
                    {".ssh/authorized_keys", "ENOENT", "done"},
                    {".mcp.json", "ENOENT", "done"},
                    {"a link in place of a protected file", "ENOENT", "done"}}},
      {.number = 28, .title = "sockets of the host", .stopped_by = kRoot | bit(Layer::kNet),
       .program = "reach_host_sockets",
       .attempts = {{"abstract socket of the host", "ECONNREFUSED|EPERM", "done"},
                    {"abstract datagram socket of the host", "ECONNREFUSED|EPERM", "done"},
                    {"socket of the host by its path", "ENOENT", "done"}}},
      {.number = 29, .title = "pass descriptors to the host", .stopped_by = bit(Layer::kDescriptors),
       .program = "pass_descriptor",
       .attempts = {{"over stream 0", "ENOTSOCK"},
                    {"over stream 1", "ENOTSOCK"},
                    {"over stream 2", "ENOTSOCK"},
                    {"a socket to the host", "none", "found"}}},
      {.number = 30, .title = "objects shared between two sandboxes", .stopped_by = all_of({Layer::kIpc, Layer::kLandlock}), .scene = share_ipc_objects,
       .attempts = {{"System V message queue of another sandbox", "ENOENT", "done"},
                    {"System V shared memory of another sandbox", "ENOENT", "done"},
                    {"System V semaphores of another sandbox", "ENOENT", "done"},
                    {"POSIX message queue of another sandbox", "EACCES|ENOENT", "done"},
                    {"/dev/shm of another sandbox", "ENOENT"}}},
      {.number = 31, .title = "counters of the whole machine", .stopped_by = kRoot,
       .program = "read_counters",
       .attempts = {{"/proc/interrupts", "empty", "tells"},
                    {"/proc/softirqs", "empty", "tells"},
                    {"/proc/vmstat", "empty", "tells"},
                    {"/proc/diskstats", "empty", "tells", "empty"},
                    {"/proc/kallsyms", "empty", "tells", "empty"},
                    {"/proc/keys", "empty"},
                    {"/proc/timer_list", "empty"},
                    {"/proc/locks", "empty"},
                    {"/proc/kcore", "EACCES|ENOENT|EPERM"},
                    {"/proc/kmsg", "EACCES|ENOENT|EPERM"},
                    {"/proc/kpagecount", "EACCES|ENOENT|EPERM"},
                    {"/sys/kernel", "ENOENT", "done"}}},
      {.number = 32, .title = "processes without end", .stopped_by = all_of({Layer::kCgroup, Layer::kRlimit}),
       .program = "fork_without_end", .attempts = {{"two hundred processes", "EAGAIN", "done"}}},
      {.number = 32, .title = "zombies without end", .stopped_by = bit(Layer::kPid),
       .program = "leave_orphans", .twin = Twin::kNever,
       .reason = "it is the init that reaps; there is no sandbox without one",
       .attempts = {{"five hundred orphans", "reaped"}}},
      {.number = 33, .title = "a daemon that survives its command", .stopped_by = bit(Layer::kPid),
       .scene = leave_daemon, .twin = Twin::kNever,
       .reason = "it is the init's one kill that ends it, with any layer off; what would go on without is a "
                 "process on the host that nobody owns",
       .attempts = {{"the command", "cancelled"},
                    {"what the daemon of an earlier command does", "nothing"}}},
      {.number = 34, .title = "memory of every kind", .stopped_by = bit(Layer::kCgroup),
       .program = "use_up_memory",
       .attempts = {{"own memory", "SIGKILL", "done"},
                    {"shared memory", "SIGKILL", "done"},
                    {"a file in memory", "SIGKILL", "done"}}},
      {.number = 34, .title = "locked memory", .stopped_by = kPowers | bit(Layer::kRlimit),
       .program = "lock_more_memory", .twin = Twin::kTakesRoot,
       .attempts = {{"16 MiB of locked memory", "ENOMEM|EPERM|EAGAIN", "done"}}},
      {.number = 35, .title = "disk without end", .stopped_by = kRoot, .program = "use_up_disk",
       .attempts = {{"40 MiB in a file", "ENOSPC", "done"},
                    {"fallocate of 40 MiB", "ENOSPC", "done"},
                    {"five thousand files", "ENOSPC", "done"}}},
      {.number = 36, .title = "descriptors without end", .stopped_by = bit(Layer::kRlimit),
       .program = "use_up_descriptors", .attempts = {{"four hundred descriptors", "EMFILE", "done"}}},
      {.number = 37, .title = "output without end", .stopped_by = 0, .program = "flood",
       .twin = Twin::kNever,
       .reason = "the provider counts what it reads; no layer of the sandbox is in it",
       .attempts = {{"the end", "output"}}},
      {.number = 38, .title = "more than a share of the processors",
       .stopped_by = kPowers | all_of({Layer::kRlimit, Layer::kCgroup}), .program = "take_priority",
       .twin = Twin::kTakesRoot,
       .attempts = {{"SCHED_FIFO", "EPERM", "done", "EPERM"},
                    {"SCHED_DEADLINE", "EPERM", "done", "EPERM|EBUSY"},
                    {"nice -20", "EACCES|EPERM", "done"},
                    {"raise the limit on descriptors", "EPERM|EINVAL", nullptr}}},
      {.number = 39, .title = "kill the init", .stopped_by = kRoot | bit(Layer::kPid),
       .program = "hurt_init", .twin = Twin::kTakesIdentity,
       .attempts = {{"the init", "lives", "is gone"}}},
      {.number = 40, .title = "the host, its neighbours and metadata services",
       .stopped_by = bit(Layer::kNet), .program = "reach_hosts_and_metadata",
       .twin = Twin::kTakesOwnNetwork,
       .attempts = {{"127.0.0.1", "ECONNREFUSED", "done"},
                    {"::1", "ECONNREFUSED", "done"},
                    {"0.0.0.0", "ECONNREFUSED", "done"},
                    {"169.254.169.254", "ENETUNREACH", "done"},
                    {"100.100.100.200", "ENETUNREACH", "done"},
                    {"10.0.0.1", "ENETUNREACH", "done"},
                    {"::ffff:169.254.169.254", "ENETUNREACH", "done"},
                    {"fd00:ec2::254", "ENETUNREACH", "done"},
                    {"64:ff9b::a9fe:a9fe", "ENETUNREACH", "done"}}},
      {.number = 41, .title = "IPv6, UDP and other protocols", .stopped_by = bit(Layer::kNet),
       .program = "use_other_protocols", .twin = Twin::kTakesOwnNetwork,
       .attempts = {{"UDP to a global IPv4 address", "ENETUNREACH", "done"},
                    {"UDP to a global IPv6 address", "ENETUNREACH", "done"},
                    {"UDP to a unique local address", "ENETUNREACH", "done"},
                    {"TCP to a global IPv6 address", "ENETUNREACH", "done"},
                    {"ICMP", "EPERM"},
                    {"SCTP", "EPERM"},
                    {"DCCP", "EPERM"}}},
      {.number = 42, .title = "names as a way out", .stopped_by = bit(Layer::kNet),
       .program = "ask_for_names", .twin = Twin::kTakesOwnNetwork,
       .attempts = {{"UDP 53 to a resolver", "ENETUNREACH", "done"},
                    {"TCP 53 to a resolver", "ENETUNREACH", "done"},
                    {"TCP 853 to a resolver", "ENETUNREACH", "done"},
                    {"UDP 53 to the host's own resolver", "done|ECONNREFUSED"},
                    {"multicast DNS", "ENETUNREACH", "done"},
                    {"name servers told", "none"}}},
      {.number = 43, .title = "a proxy of the host's", .stopped_by = bit(Layer::kNet),
       .program = "use_a_proxy_of_the_host", .twin = Twin::kTakesOwnNetwork,
       .attempts = {{"CONNECT by a proxy on loopback", "ECONNREFUSED", "done"},
                    {"CONNECT by a proxy on the gateway", "ENETUNREACH", "done"},
                    {"proxies told by the environment", "none"}}},
      {.number = 44, .title = "a policy that changes while a connection is open", .stopped_by = 0,
       .scene = ask_for_network, .twin = Twin::kNever,
       .reason = "no sandbox of this provider has a network to have a policy for",
       .attempts = {{"a sandbox with a network", "refused"}, {"what is left of it", "nothing"}}},
  };
  return kTable;
}

const char* why_no_twin(const Probe& probe) {
  switch (probe.twin) {
    case Twin::kRuns: return "";
    case Twin::kTakesRoot: return "as root: an ordinary user may not do it to the host either";
    case Twin::kTakesIdentity: return "as root: an ordinary user's own processes would be reached";
    case Twin::kTakesOwnNetwork: return "in a network namespace of the tests' own";
    case Twin::kNever: return probe.reason;
  }
  return "";
}

std::string with_slashes(const char* answers) {
  std::string text;
  for (const char* at = answers; *at != '\0'; ++at) text += *at == '|' ? std::string(" or ") : std::string(1, *at);
  return text;
}

}  // namespace

std::span<const Probe> probes() { return table(); }

std::string rendered() {
  std::ostringstream text;
  text << "| # | attack | what it tries: with every layer → with these off | layers |\n"
       << "| --- | --- | --- | --- |\n";
  for (const Probe& probe : probes()) {
    text << "| " << probe.number << " | " << probe.title << " | ";
    const char* separator = "";
    for (const Attempt& attempt : probe.attempts) {
      text << separator << attempt.what << ": " << with_slashes(attempt.held);
      if (probe.twin != Twin::kNever && attempt.succeeds != nullptr) {
        text << " → " << with_slashes(attempt.succeeds);
      }
      separator = "; ";
    }
    text << " | " << local::layer_names(probe.stopped_by);
    if (probe.without != 0) text << " (alone, without " << local::layer_names(probe.without) << ")";
    const std::string reason = why_no_twin(probe);
    if (!reason.empty()) text << (probe.twin == Twin::kNever ? ". No twin: " : ". Twin ") << reason;
    text << " |\n";
  }
  return text.str();
}

}  // namespace berth::attack
