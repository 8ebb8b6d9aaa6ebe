// Probes 22 to 27: links, races, and what Landlock guards.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

#include "helper/file_move.h"
#include "probe.h"

namespace berth::attack {
namespace {

// Bait for whoever moves files from outside; the tests then ask for paths through it.
void lay_links() {
  symlink(host_folder(), "link");
  symlink("/proc/self/root", "magic");
  symlink((std::string("../../../../../../../..") + host_folder()).c_str(), "up");
  mkfifo("pipe", 0644);
  say("links", "laid");
}

// What the init would say about `path`, byte by byte the program of the sandbox itself.
bool reads_from_outside(const std::string& path) {
  int bytes[2];
  if (pipe(bytes) != 0) return false;
  static local::FileMove move;
  local::GetRequest request{};
  request.max_bytes = 4096;
  path.copy(request.path, local::kPathMaxBytes);
  if (move.begin_get(request, bytes[1])) move.abort(EINTR);
  close(bytes[1]);
  char text[64] = {};
  const bool got = read(bytes[0], text, sizeof(text) - 1) > 0;
  close(bytes[0]);
  return got && strstr(text, "of the host") != nullptr;
}

// A folder that is a link to the host's half of the time, as fast as renames go.
void race_file_transfer() {
  char folder[512];
  if (getcwd(folder, sizeof(folder)) == nullptr) return;
  mkdir("swapped", 0755);
  symlink(host_folder(), "elsewhere");
  const pid_t swapper = fork();
  if (swapper == 0) {
    while (true) renameat2(AT_FDCWD, "swapped", AT_FDCWD, "elsewhere", RENAME_EXCHANGE);
  }
  // Long enough that the other process has its turns on a busy machine too.
  bool reached = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
  constexpr int kRoundsMax = 1'000'000;
  for (int i = 0; i < kRoundsMax && !reached && std::chrono::steady_clock::now() < end; ++i) {
    reached = reads_from_outside(std::string(folder) + "/swapped/marker");
  }
  kill(swapper, SIGKILL);
  waitpid(swapper, nullptr, 0);
  for (const char* name : {"swapped", "elsewhere"}) {
    if (rmdir(name) != 0) unlink(name);
  }
  say("a file transfer through a swapped folder", reached ? "reached the host" : "stays inside");
}

void link_and_exchange() {
  say_result("link to a file of the system", link("/usr/bin/env", "linked"));
  say_result("link to a file of the host", link(host_path("marker"), "linked-host"));
  const int system = open("/usr/bin/env", O_RDONLY | O_CLOEXEC);
  say_result("link to a descriptor", linkat(system, "", AT_FDCWD, "linked", AT_EMPTY_PATH));
  close(open("own", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  say_result("exchange with a file of the system",
             renameat2(AT_FDCWD, "own", AT_FDCWD, "/usr/bin/env", RENAME_EXCHANGE));
  say_result("move over a file of the system", rename("own", "/usr/bin/berth-none"));
  for (const char* name : {"own", "linked", "linked-host"}) unlink(name);
}

void change_what_landlock_does_not_cover() {
  say_result("chmod /usr", chmod("/usr", 0777));
  say_result("chown /usr", chown("/usr", getuid(), getgid()));
  say_result("utimensat /usr", utimensat(AT_FDCWD, "/usr", nullptr, 0));
  say_result("setxattr /usr", setxattr("/usr", "user.probe", "x", 1, 0));
  say_result("truncate a file of the system", truncate("/usr/bin/env", 0));
}

void use_a_device_as_a_terminal() {
  char settings[64];
  say_result("terminal request to /dev/null", ioctl(open("/dev/null", O_RDWR), 0x5401, settings));
}

void mount_something() { say_result("mount", mount("probe", "/tmp", "tmpfs", 0, nullptr)); }

// The places from which other programs of a user start programs, in a folder of the host.
void plant_hooks() {
  for (const char* name : {".bashrc", ".git/hooks/pre-commit", ".ssh/authorized_keys", ".mcp.json"}) {
    const int fd = open(host_path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    say_result(name, fd);
    if (fd >= 0) close(fd);
  }
  say_result("a link in place of a protected file", symlink("/tmp", host_path(".vscode")));
}

}  // namespace

const Program kFilePrograms[] = {{"lay_links", lay_links},
                                 {"race_file_transfer", race_file_transfer},
                                 {"link_and_exchange", link_and_exchange},
                                 {"change_what_landlock_does_not_cover", change_what_landlock_does_not_cover},
                                 {"use_a_device_as_a_terminal", use_a_device_as_a_terminal},
                                 {"mount_something", mount_something},
                                 {"plant_hooks", plant_hooks},
                                 {nullptr, nullptr}};

}  // namespace berth::attack
