#include "helper/root_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace berth::local {
namespace {

// Any folder that every Linux system has will do: the new root is mounted over it in a namespace of
// its own and is the root a moment later.
constexpr char kBuildFolder[] = "/tmp";

constexpr const char* kSystemFolders[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};

// What programs need of /etc, and nothing that tells about this machine's people or secrets.
constexpr const char* kEtcFolders[] = {"alternatives", "fonts", "python3", "python3.11", "python3.12",
                                       "python3.13", "ssl/certs", "ld.so.conf.d"};
constexpr const char* kEtcFiles[] = {"ld.so.cache", "ld.so.conf", "localtime", "matplotlibrc",
                                     "mime.types", "ssl/openssl.cnf", "protocols", "services",
                                     "debian_version"};

constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom"};

// Of /proc, beside the folders of processes. All else tells about the host or is a channel between
// sandboxes, and is covered.
constexpr const char* kProcKept[] = {"self",   "thread-self", "cpuinfo",     "meminfo", "stat",
                                     "uptime", "loadavg",     "filesystems", "version", "mounts",
                                     "net",    "sys"};

struct Errno {
  RootTreeError result;
  bool failed(bool good, const char* doing) {
    if (good) return false;
    if (result.error == 0) result = RootTreeError{errno == 0 ? EIO : errno, doing};
    return true;
  }
};

bool set_attributes(const char* path, std::uint64_t attributes, unsigned flags) {
  mount_attr wanted{};
  wanted.attr_set = attributes;
  return syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &wanted, sizeof(wanted)) == 0;
}

bool bind_read_only(const char* source, const char* target, bool recursive) {
  if (mount(source, target, nullptr, MS_BIND | (recursive ? MS_REC : 0), nullptr) != 0) return false;
  return set_attributes(target, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                        recursive ? AT_RECURSIVE : 0);
}

bool make_empty_file(const char* path) {
  const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0444);
  if (fd < 0) return false;
  close(fd);
  return true;
}

bool write_file(const char* path, const char* text) {
  const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0444);
  if (fd < 0) return false;
  const std::size_t size = std::strlen(text);
  const bool good = write(fd, text, size) == static_cast<ssize_t>(size);
  close(fd);
  return good;
}

// /bin and its like are links into /usr on merged systems and folders on others.
bool add_system_folder(const char* name) {
  char source[64];
  std::snprintf(source, sizeof(source), "/%s", name);
  struct stat info{};
  if (lstat(source, &info) != 0) return true;
  if (S_ISLNK(info.st_mode)) {
    char target[256];
    const ssize_t size = readlink(source, target, sizeof(target) - 1);
    if (size <= 0) return false;
    target[size] = '\0';
    return symlink(target, name) == 0;
  }
  if (!S_ISDIR(info.st_mode)) return true;
  return mkdir(name, 0755) == 0 && bind_read_only(source, name, true);
}

bool add_etc_entry(const char* name, bool folder) {
  char source[128];
  char target[128];
  std::snprintf(source, sizeof(source), "/etc/%s", name);
  std::snprintf(target, sizeof(target), "etc/%s", name);
  struct stat info{};
  if (lstat(source, &info) != 0) return true;
  if (S_ISLNK(info.st_mode)) {  // /etc/localtime
    char link[256];
    const ssize_t size = readlink(source, link, sizeof(link) - 1);
    if (size <= 0) return true;
    link[size] = '\0';
    return symlink(link, target) == 0;
  }
  if (folder != S_ISDIR(info.st_mode)) return true;
  if (folder ? mkdir(target, 0755) != 0 : !make_empty_file(target)) return false;
  return bind_read_only(source, target, folder);
}

bool add_etc(const RootTree& tree) {
  if (mkdir("etc", 0755) != 0 || mkdir("etc/ssl", 0755) != 0) return false;
  for (const char* name : kEtcFolders) {
    if (!add_etc_entry(name, true)) return false;
  }
  for (const char* name : kEtcFiles) {
    if (!add_etc_entry(name, false)) return false;
  }
  char text[512];
  std::snprintf(text, sizeof(text),
                "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
                "sandbox:x:%u:%u:sandbox:%s:/bin/sh\n"
                "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
                tree.inner_id, tree.inner_id, kWorkFolder);
  if (!write_file("etc/passwd", text)) return false;
  std::snprintf(text, sizeof(text), "root:x:0:\nsandbox:x:%u:\nnogroup:x:65534:\n", tree.inner_id);
  if (!write_file("etc/group", text)) return false;
  std::snprintf(text, sizeof(text), "127.0.0.1 localhost %s\n::1 localhost\n", tree.host_name);
  if (!write_file("etc/hosts", text)) return false;
  std::snprintf(text, sizeof(text), "%s\n", tree.host_name);
  if (!write_file("etc/hostname", text)) return false;
  if (!write_file("etc/resolv.conf", "")) return false;
  return write_file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n");
}

bool add_devices() {
  if (mkdir("dev", 0755) != 0 || mkdir("dev/shm", 0755) != 0) return false;
  for (const char* name : kDevices) {
    char source[32];
    char target[32];
    std::snprintf(source, sizeof(source), "/dev/%s", name);
    std::snprintf(target, sizeof(target), "dev/%s", name);
    if (!make_empty_file(target)) return false;
    if (mount(source, target, nullptr, MS_BIND, nullptr) != 0) return false;
    // Read-only stops no writing to a device; it keeps the times of the host's own node as they are.
    constexpr std::uint64_t kAttributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
    if (!set_attributes(target, kAttributes, 0)) return false;
  }
  return symlink("/proc/self/fd", "dev/fd") == 0 && symlink("/proc/self/fd/0", "dev/stdin") == 0 &&
         symlink("/proc/self/fd/1", "dev/stdout") == 0 &&
         symlink("/proc/self/fd/2", "dev/stderr") == 0;
}

// One file system behind the work folder, /tmp and /dev/shm, so that the limit is of all together.
bool add_writable(const RootTree& tree) {
  char options[128];
  std::snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=0755",
                static_cast<unsigned long long>(tree.disk_bytes),
                static_cast<unsigned long long>(tree.disk_inodes));
  if (mkdir("data", 0755) != 0) return false;
  if (mount("sandbox", "data", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) return false;
  if (mkdir("data/workspace", 0700) != 0 || mkdir("data/tmp", 0700) != 0 ||
      mkdir("data/shm", 0700) != 0) {
    return false;
  }
  if (chmod("data/tmp", 01777) != 0 || chmod("data/shm", 01777) != 0) return false;
  if (mkdir("workspace", 0755) != 0 || mkdir("tmp", 0755) != 0) return false;
  const bool bound = mount("data/workspace", "workspace", nullptr, MS_BIND, nullptr) == 0 &&
                     mount("data/tmp", "tmp", nullptr, MS_BIND, nullptr) == 0 &&
                     mount("data/shm", "dev/shm", nullptr, MS_BIND, nullptr) == 0;
  if (!bound || !set_attributes("dev/shm", MOUNT_ATTR_NOEXEC, 0)) return false;
  return umount2("data", MNT_DETACH) == 0 && rmdir("data") == 0;
}

bool kept_of_proc(const char* name) {
  for (const char* kept : kProcKept) {
    if (std::strcmp(name, kept) == 0) return true;
  }
  return false;
}

bool cover(const char* path, bool folder) {
  if (mount(folder ? "dev/.none" : "dev/.empty", path, nullptr, MS_BIND, nullptr) != 0) {
    return errno == ENOENT;
  }
  return set_attributes(path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0);
}

bool add_proc(bool whole) {
  if (mkdir("proc", 0555) != 0) return false;
  if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible") != 0) {
    return false;
  }
  if (whole) return true;
  if (mkdir("dev/.none", 0555) != 0 || !make_empty_file("dev/.empty")) return false;
  if (!bind_read_only("proc/sys", "proc/sys", false)) return false;
  DIR* folder = opendir("proc");
  if (folder == nullptr) return false;
  bool good = true;
  while (const dirent* entry = readdir(folder)) {
    const bool process = entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    if (process || entry->d_name[0] == '.' || kept_of_proc(entry->d_name)) continue;
    struct stat info{};
    if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    // What only the host's root may open needs no cover: no identity in here is that one.
    if (S_ISLNK(info.st_mode) || (info.st_mode & 0007) == 0) continue;
    char path[300];
    std::snprintf(path, sizeof(path), "proc/%s", entry->d_name);
    if (!cover(path, S_ISDIR(info.st_mode))) {
      good = false;
      break;
    }
  }
  const int error = errno;
  closedir(folder);
  errno = error;
  return good && unlink("dev/.empty") == 0 && rmdir("dev/.none") == 0;
}

bool add_plain_folders() {
  return mkdir("run", 0755) == 0 && mkdir("home", 0755) == 0 && mkdir("var", 0755) == 0 &&
         symlink("/tmp", "var/tmp") == 0;
}

}  // namespace

RootTreeError enter_root_tree(const RootTree& tree) {
  Errno check;
  errno = 0;
  if (check.failed(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
                   "detaching mount propagation"))
    return check.result;
  if (check.failed(mount("root", kBuildFolder, "tmpfs", MS_NOSUID | MS_NODEV,
                         "size=1m,nr_inodes=512,mode=0755") == 0,
                   "mounting the new root"))
    return check.result;
  if (check.failed(chdir(kBuildFolder) == 0, "entering the new root")) return check.result;
  for (const char* name : kSystemFolders) {
    if (check.failed(add_system_folder(name), "binding the system folders")) return check.result;
  }
  if (check.failed(add_etc(tree), "making /etc")) return check.result;
  if (check.failed(add_devices(), "making /dev")) return check.result;
  if (check.failed(add_writable(tree), "mounting the writable file system")) return check.result;
  if (check.failed(add_proc(tree.whole_proc), "mounting and masking /proc")) return check.result;
  if (check.failed(add_plain_folders(), "making the plain folders")) return check.result;
  if (check.failed(set_attributes(".", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0),
                   "making the root read-only"))
    return check.result;
  if (check.failed(syscall(SYS_pivot_root, ".", ".") == 0, "pivoting the root"))
    return check.result;
  if (check.failed(umount2(".", MNT_DETACH) == 0, "detaching the host's root"))
    return check.result;
  check.failed(chdir("/") == 0, "entering the root");
  return check.result;
}

}  // namespace berth::local
