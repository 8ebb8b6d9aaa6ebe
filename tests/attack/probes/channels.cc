// Probes 28 to 31: sockets, descriptors, System V objects and counters between sandboxes and the host.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <string>

#include "probe.h"

namespace berth::attack {
namespace {

constexpr key_t kKey = 0x62727468;
constexpr char kQueue[] = "/berth-attack";

// Abstract when `name` starts with '@'.
long reach_socket(const std::string& name, int type) {
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = name.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (name.starts_with("@")) address.sun_path[0] = '\0';
  return connect(fd, reinterpret_cast<sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size));
}

void reach_host_sockets() {
  const std::string abstract = std::string("@") + given("ABSTRACT");
  say_result("abstract socket of the host", reach_socket(abstract, SOCK_STREAM));
  say_result("abstract datagram socket of the host", reach_socket(abstract + "-datagram", SOCK_DGRAM));
  say_result("socket of the host by its path", reach_socket(host_path("socket"), SOCK_STREAM));
}

long send_descriptor(int through) {
  char byte = 'x';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const item = CMSG_FIRSTHDR(&message);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof(int));
  const int sent = 0;
  std::memcpy(CMSG_DATA(item), &sent, sizeof(int));
  return sendmsg(through, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// The last line comes before the deed: who listens at the other end may end everything at once.
void pass_descriptor() {
  for (int fd = 0; fd < 3; ++fd) {
    say_result(("over stream " + std::to_string(fd)).c_str(), send_descriptor(fd));
  }
  int type = 0;
  socklen_t size = sizeof(type);
  int found = -1;
  for (int fd = 3; fd < 64 && found < 0; ++fd) {
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0) found = fd;
  }
  say("a socket to the host", found < 0 ? "none" : "found");
  if (found >= 0) send_descriptor(found);
}

void make_ipc_objects() {
  const int queue = msgget(kKey, IPC_CREAT | 0666);
  const int memory = shmget(kKey, 4096, IPC_CREAT | 0666);
  const int semaphore = semget(kKey, 1, IPC_CREAT | 0666);
  const mqd_t posix = mq_open(kQueue, O_CREAT | O_RDWR, 0666, nullptr);
  fchmod(posix, 0666);
  close(open("/dev/shm/berth-attack", O_WRONLY | O_CREAT, 0666));
  say("objects", queue >= 0 && memory >= 0 && semaphore >= 0 && posix >= 0 ? "made" : "not made");
}

void find_ipc_objects() {
  say_result("System V message queue of another sandbox", msgget(kKey, 0));
  say_result("System V shared memory of another sandbox", shmget(kKey, 0, 0));
  say_result("System V semaphores of another sandbox", semget(kKey, 0, 0));
  say_result("POSIX message queue of another sandbox", mq_open(kQueue, O_RDWR));
  say_result("/dev/shm of another sandbox", open("/dev/shm/berth-attack", O_RDONLY));
}

void drop_ipc_objects() {
  msgctl(msgget(kKey, 0), IPC_RMID, nullptr);
  shmctl(shmget(kKey, 0, 0), IPC_RMID, nullptr);
  semctl(semget(kKey, 0, 0), 0, IPC_RMID);
  mq_unlink(kQueue);
  unlink("/dev/shm/berth-attack");
  say("objects", "dropped");
}

void read_counters() {
  static char text[4096];
  for (const char* path : {"/proc/interrupts", "/proc/softirqs", "/proc/vmstat", "/proc/diskstats",
                           "/proc/kallsyms", "/proc/keys", "/proc/timer_list", "/proc/locks"}) {
    say(path, read_start(path, text, sizeof(text)) == 0 ? "empty" : "tells");
  }
  for (const char* path : {"/proc/kcore", "/proc/kmsg", "/proc/kpagecount"}) {
    say_result(path, open(path, O_RDONLY | O_NONBLOCK));
  }
  say_result("/sys/kernel", open("/sys/kernel", O_RDONLY));
}

// Waits for somebody else to open a program of the system.
void watch_others() {
  say_result("dnotify", fcntl(open("/usr/bin", O_RDONLY | O_CLOEXEC), F_NOTIFY, DN_ACCESS));
  const int watches = inotify_init1(IN_CLOEXEC);
  say_result("inotify", inotify_add_watch(watches, "/usr/bin/env", IN_OPEN));
  pollfd watched{watches, POLLIN, 0};
  say("what others open", watches >= 0 && poll(&watched, 1, 5000) == 1 ? "seen" : "not seen");
}

void touch_device() { say_result("touch /dev/null", utimensat(AT_FDCWD, "/dev/null", nullptr, 0)); }

}  // namespace

const Program kChannelPrograms[] = {{"reach_host_sockets", reach_host_sockets},
                                    {"pass_descriptor", pass_descriptor},
                                    {"make_ipc_objects", make_ipc_objects},
                                    {"find_ipc_objects", find_ipc_objects},
                                    {"drop_ipc_objects", drop_ipc_objects},
                                    {"read_counters", read_counters},
                                    {"watch_others", watch_others},
                                    {"touch_device", touch_device},
                                    {nullptr, nullptr}};

}  // namespace berth::attack
