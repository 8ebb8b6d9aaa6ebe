// Probes 1 to 7: other processes, /proc, and privileges by exec.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "probe.h"

namespace berth::attack {
namespace {

constexpr std::size_t kTextBytes = 65536;

// Calls `look` with the folder of every process but this one.
template <typename Look>
void for_each_process(Look look) {
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 0 && pid != getpid()) look(std::string("/proc/") + entry->d_name);
  }
  closedir(folder);
}

// The secret is given backwards, so that this program does not find its own environment.
void read_secrets() {
  std::string secret = given("SECRET_BACKWARDS");
  std::reverse(secret.begin(), secret.end());
  static char text[kTextBytes];
  bool seen = false;
  for_each_process([&](const std::string& process) {
    for (const char* file : {"/environ", "/cmdline"}) {
      const std::size_t size = read_start((process + file).c_str(), text, sizeof(text));
      seen = seen || memmem(text, size, secret.data(), secret.size()) != nullptr;
    }
  });
  say("secrets in /proc/*/{environ,cmdline}", seen ? "seen" : "none");
  say_result("/proc/1/root/etc/shadow", open("/proc/1/root/etc/shadow", O_RDONLY));
  say_result("/proc/1/environ", open("/proc/1/environ", O_RDONLY));
}

void trace_init() {
  char start[4] = {};
  iovec here{start, sizeof(start)};
  constexpr std::uintptr_t kImage = 0x400000;  // where a static program that is not relocatable lies
  iovec there{reinterpret_cast<void*>(kImage), sizeof(start)};
  say_result("process_vm_readv", process_vm_readv(1, &here, 1, &there, 1, 0));
  say_result("process_vm_writev", process_vm_writev(1, &here, 0, &there, 0, 0));
  const auto init = static_cast<int>(syscall(SYS_pidfd_open, 1, 0));
  say_result("pidfd_getfd", syscall(SYS_pidfd_getfd, init, 0, 0));
  say_result("kcmp", syscall(SYS_kcmp, 1, getpid(), KCMP_VM, 0, 0));
  say_result("ptrace", ptrace(PTRACE_SEIZE, 1, nullptr, nullptr));
}

// The image of the init by way of /proc, which runc once let programs overwrite.
void overwrite_own_image() {
  say_result("open /proc/self/exe to write", open("/proc/self/exe", O_WRONLY));
  say_result("open /proc/1/exe to write", open("/proc/1/exe", O_WRONLY));
  char name[32];
  bool reached = false;
  for_each_process([&](const std::string& process) {
    read_start((process + "/comm").c_str(), name, sizeof(name));
    if (strcmp(name, "berth-init\n") != 0) return;
    reached = reached || open((process + "/exe").c_str(), O_RDONLY) >= 0;
  });
  say("the image of the init", reached ? "reached" : "not to be found");
}

void count_descriptors() {
  int more = 0;
  for (int fd = 3; fd < 1024; ++fd) more += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  say("descriptors beside the three streams", more == 0 ? "none" : "some");
  char folder[4096];
  const bool inside = getcwd(folder, sizeof(folder)) != nullptr && folder[0] == '/';
  say("working folder", inside ? "inside the root" : "outside the root");
}

// Opened and never written: what counts is whether writing would be possible.
void open_kernel_knobs() {
  for (const char* path : {"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
                           "/proc/sys/kernel/modprobe", "/sys/kernel/uevent_helper"}) {
    say_result(path, open(path, O_WRONLY));
  }
}

void undo_masks() {
  say_result("replace /dev/null", unlink("/dev/null"));
  say_result("move a mask away", rename("/proc/interrupts", "/tmp/interrupts"));
  static char text[4096];
  for (const char* path : {"/proc/interrupts", "/proc/softirqs", "/proc/zoneinfo"}) {
    say(path, read_start(path, text, sizeof(text)) == 0 ? "empty" : "tells");
  }
}

bool copy_image(const char* to) {
  const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int into = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  if (from < 0 || into < 0) return false;
  static char piece[kTextBytes];
  ssize_t got = 0;
  while ((got = read(from, piece, sizeof(piece))) > 0) {
    if (write(into, piece, static_cast<std::size_t>(got)) != got) return false;
  }
  close(from);
  return close(into) == 0;
}

int set_file_capability() {
  vfs_cap_data data{};
  data.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  data.data[0].permitted = 1u << CAP_SYS_CHROOT;
  return error_of(setxattr("raise", "security.capability", &data, sizeof(data), 0));
}

// The host's own set-user-ID program where it can be reached, else one made here.
void raise_privileges() {
  if (!copy_image("raise")) return say_result("copy", -1);
  say_in_child("file capability", set_file_capability);
  chmod("raise", 06755);
  const std::string host = host_path("set-user-id");
  const char* const program = access(host.c_str(), X_OK) == 0 ? host.c_str() : "./raise";
  const pid_t child = fork();
  if (child == 0) {
    execl(program, program, "who_am_i", nullptr);
    _exit(1);
  }
  waitpid(child, nullptr, 0);
  unlink("raise");
}

void who_am_i() {
  say("identity after a set-user-ID exec", getuid() == geteuid() ? "the same" : "another");
  static char text[4096];
  read_start("/proc/self/status", text, sizeof(text));
  const char* const line = strstr(text, "CapEff:\t");
  const bool none = line != nullptr && strtoull(line + 8, nullptr, 16) == 0;
  say("capabilities after it", none ? "none" : "some");
}

}  // namespace

const Program kProcessPrograms[] = {{"read_secrets", read_secrets},
                                    {"trace_init", trace_init},
                                    {"overwrite_own_image", overwrite_own_image},
                                    {"count_descriptors", count_descriptors},
                                    {"open_kernel_knobs", open_kernel_knobs},
                                    {"undo_masks", undo_masks},
                                    {"raise_privileges", raise_privileges},
                                    {"who_am_i", who_am_i},
                                    {nullptr, nullptr}};

}  // namespace berth::attack
