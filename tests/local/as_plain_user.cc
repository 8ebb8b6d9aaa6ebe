// as_plain_user PROGRAM [ARGUMENT...]
//
// Runs a test program the way an ordinary user would run it. Where it is started as root it prepares
// what a careful administrator would have: a control group in every hierarchy, handed over to that
// user. Where it is started as an ordinary user it just runs the program: the machine has to have
// prepared the same.
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr uid_t kPlainUser = 10001;

void fail(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

void hand_over(const std::string& folder) {
  for (const char* file : {"", "/cgroup.procs", "/tasks", "/cgroup.subtree_control", "/cgroup.threads"}) {
    const std::string path = folder + file;
    if (std::filesystem::exists(path) && chown(path.c_str(), kPlainUser, kPlainUser) != 0) {
      fail("handing over " + path);
    }
  }
}

void make(const std::string& folder, std::vector<std::string>* made) {
  if (mkdir(folder.c_str(), 0755) != 0) fail("making " + folder);
  made->push_back(folder);
  hand_over(folder);
}

// On a machine with nothing but version 2: a group that hands its controllers down, and a leaf in it for
// the program, since a group with processes cannot hand down any.
std::string hand_over_unified(const std::string& name, std::vector<std::string>* made) {
  const std::string root = "/sys/fs/cgroup";
  std::ofstream control(root + "/cgroup.subtree_control");
  control << "+memory +pids +cpu" << std::flush;
  if (!control) fail("handing down controllers");
  make(root + "/" + name, made);
  make(root + "/" + name + "/program", made);
  return made->back();
}

// A folder in every hierarchy, owned by the plain user: those to remove later, those to join.
struct Groups {
  std::vector<std::string> made;
  std::vector<std::string> to_join;
};

Groups hand_over_control_groups(const std::string& name) {
  Groups groups;
  if (std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers")) {
    groups.to_join.push_back(hand_over_unified(name, &groups.made));
    return groups;
  }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/fs/cgroup", ignored)) {
    if (!std::filesystem::exists(entry.path() / "cgroup.procs")) continue;
    make(entry.path() / name, &groups.made);
    groups.to_join.push_back(groups.made.back());
  }
  return groups;
}

void join(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    // A fresh cpuset has no processors and takes no process until it is given some.
    if (std::filesystem::exists(folder + "/cpuset.cpus")) {
      for (const char* file : {"cpuset.cpus", "cpuset.mems"}) {
        std::ifstream from(folder + "/../" + file);
        std::ofstream(folder + "/" + file) << from.rdbuf();
      }
    }
    std::ofstream procs(folder + "/cgroup.procs");
    procs << getpid() << std::flush;
    if (!procs) fail("joining " + folder);
  }
}

void remove_tree(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.is_directory(ignored)) remove_tree(entry.path());
  }
  for (int attempt = 0; attempt < 100 && rmdir(folder.c_str()) != 0 && errno == EBUSY; ++attempt) {
    usleep(20'000);
  }
}

[[noreturn]] void become_plain(char** command) {
  if (setgroups(0, nullptr) != 0 || setresgid(kPlainUser, kPlainUser, kPlainUser) != 0 ||
      setresuid(kPlainUser, kPlainUser, kPlainUser) != 0) {
    fail("dropping root");
  }
  execv(command[0], command);
  fail(std::string("running ") + command[0]);
  std::abort();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: as_plain_user PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  if (geteuid() != 0) {
    execv(arguments[1], arguments + 1);
    fail(arguments[1]);
  }
  const Groups groups =
      hand_over_control_groups("berth-plain-" + std::to_string(getpid()));
  const pid_t child = fork();
  if (child == 0) {
    join(groups.to_join);
    become_plain(arguments + 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) fail("running the program");
  for (const std::string& folder : groups.made) remove_tree(folder);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
