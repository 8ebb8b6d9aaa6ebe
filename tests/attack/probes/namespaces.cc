// Probes 8 to 14: namespaces, mounts, roots, devices, control groups.
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "probe.h"

namespace berth::attack {
namespace {

int make_with_clone() {
  const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  return error_of(child);
}

int make_with_clone3() {
  clone_args arguments{};
  arguments.flags = CLONE_NEWUSER;
  arguments.exit_signal = SIGCHLD;
  const long child = syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (child == 0) _exit(0);
  return error_of(child);
}

int enter_a_namespace() {
  unshare(CLONE_NEWUSER | CLONE_NEWUTS);
  return error_of(setns(open("/proc/self/ns/uts", O_RDONLY), CLONE_NEWUTS));
}

void make_namespaces() {
  say_in_child("unshare", [] { return error_of(unshare(CLONE_NEWUSER)); });
  say_in_child("clone", make_with_clone);
  say_in_child("clone3", make_with_clone3);
  say_in_child("setns", enter_a_namespace);
}

void change_mounts() {
  say_result("mount", mount("probe", "/tmp", "tmpfs", 0, nullptr));
  say_result("umount2", umount2("/tmp", MNT_DETACH));
  const auto context = static_cast<int>(syscall(SYS_fsopen, "tmpfs", 0));
  say_result("fsopen", context);
  constexpr int kCreate = 6;  // FSCONFIG_CMD_CREATE
  say_result("fsconfig", syscall(SYS_fsconfig, context, kCreate, nullptr, nullptr, 0));
  const auto made = static_cast<int>(syscall(SYS_fsmount, context, 0, 0));
  say_result("fsmount", made);
  say_result("move_mount", syscall(SYS_move_mount, made, "", AT_FDCWD, "/tmp", 4));
  umount2("/tmp", MNT_DETACH);
  const auto tree = static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, "/tmp", OPEN_TREE_CLONE));
  say_result("open_tree", tree);
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOEXEC;
  say_result("mount_setattr", syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes,
                                      sizeof(attributes)));
  // A root that is not there, because a real one would take the init's along.
  say_result("pivot_root", syscall(SYS_pivot_root, "/berth-none", "/berth-none"));
  say_in_child("chroot", [] { return error_of(chroot("/tmp")); });
}

// Up from a folder that was moved away under the program, from a kept descriptor, and through a chroot.
void climb_out() {
  const int kept = open("/", O_PATH | O_DIRECTORY);
  mkdir("a", 0755);
  mkdir("a/b", 0755);
  if (chdir("a/b") == 0) rename("../../a/b", "../../b");
  say_in_child("chroot", [] { return error_of(chroot(".")); });
  for (int i = 0; i < 64; ++i) {
    if (chdir("..") != 0) break;
  }
  const char* const marker = host_path("marker") + 1;
  say_result("the host's file above ..", open(marker, O_RDONLY));
  say_result("the host's file from a kept folder", openat(kept, marker, O_RDONLY));
  say_result("the host's file from /proc/self/root",
             open((std::string("/proc/self/root/") + marker).c_str(), O_RDONLY));
}

void open_by_handle() {
  alignas(8) unsigned char space[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
  auto* const handle = reinterpret_cast<file_handle*>(space);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  say_result("name_to_handle_at", name_to_handle_at(AT_FDCWD, "/usr/bin", handle, &mount_id, 0));
  const int above = open("/usr", O_RDONLY | O_DIRECTORY);
  say_result("open_by_handle_at", open_by_handle_at(above, handle, O_RDONLY));
}

void use_devices() {
  say_result("mknod of a character device", mknod("character", S_IFCHR | 0600, makedev(1, 3)));
  say_result("mknod of a block device", mknod("block", S_IFBLK | 0600, makedev(8, 0)));
  unlink("character");
  unlink("block");
  for (const char* path : {"/dev/kmsg", "/dev/fuse", "/dev/kvm", "/dev/userfaultfd", "/dev/sda"}) {
    say_result(path, open(path, O_RDONLY | O_NONBLOCK));
  }
}

// Mounts a hierarchy and opens the file that names a program the kernel starts as root. It is opened
// and never written.
void become_release_agent() {
  mkdir("hierarchy", 0755);
  long mounted = -1;
  for (const char* controller : {"pids", "freezer", "devices"}) {
    mounted = mount("cgroup", "hierarchy", "cgroup", 0, controller);
    if (mounted == 0 || errno == EPERM) break;
  }
  say_result("mount a hierarchy", mounted);
  say_result("open release_agent", open("hierarchy/release_agent", O_WRONLY));
  umount2("hierarchy", MNT_DETACH);
  rmdir("hierarchy");
}

// The folder of this process's group in a hierarchy with a limit on memory, as the host sees it.
std::string memory_group() {
  static char text[8192];
  read_start("/proc/self/cgroup", text, sizeof(text));
  const char* line = strstr(text, ":memory:");
  const bool unified = line == nullptr;
  line = unified ? strstr(text, "0::") : line;
  if (line == nullptr) return "/sys/fs/cgroup/none";
  const char* const path = line + (unified ? 3 : 8);
  const std::string group(path, static_cast<std::size_t>(strchrnul(path, '\n') - path));
  return std::string("/sys/fs/cgroup") + (unified ? "" : "/memory") + group;
}

long write_text(const std::string& path, const char* text) {
  const int fd = open(path.c_str(), O_WRONLY);
  if (fd < 0) return -1;
  const long written = write(fd, text, strlen(text));
  const int error = errno;
  close(fd);
  errno = error;
  return written;
}

void leave_control_group() {
  const std::string group = memory_group();
  const bool unified = access((group + "/memory.max").c_str(), F_OK) == 0;
  write_text(group + "/memory.memsw.limit_in_bytes", "-1");
  say_result("raise the own limit",
             unified ? write_text(group + "/memory.max", "max")
                     : write_text(group + "/memory.limit_in_bytes", "-1"));
  const std::string inner = group + "/probe";
  say_result("make a group", mkdir(inner.c_str(), 0755));
  rmdir(inner.c_str());
  say_result("join the group above", write_text(group + "/../cgroup.procs", "0"));
}

}  // namespace

const Program kNamespacePrograms[] = {{"make_namespaces", make_namespaces},
                                      {"change_mounts", change_mounts},
                                      {"climb_out", climb_out},
                                      {"open_by_handle", open_by_handle},
                                      {"use_devices", use_devices},
                                      {"become_release_agent", become_release_agent},
                                      {"leave_control_group", leave_control_group},
                                      {nullptr, nullptr}};

}  // namespace berth::attack
