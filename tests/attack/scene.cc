#include "scene.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace berth::attack {
namespace {

using local::Fd;
using local::Layer;

constexpr std::uint64_t kMebibyte = 1u << 20;

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::string& programs_image() {
  static const std::string image = file_text(BERTH_ATTACK_PROBES);
  return image;
}

// Small enough that a probe reaches every limit in no time.
local::Config small_config(std::uint32_t left_out, local::StartupChoice startup) {
  local::Config config = local::default_config();
  config.startup = startup;
  config.templates[index_of(local::Interpreter::kNode)] = false;
  config.left_out = left_out;
  config.limits.memory_bytes = 96 * kMebibyte;
  config.limits.disk_bytes = 32 * kMebibyte;
  config.limits.processes = 64;
  config.limits.open_files = 256;
  config.output_kill_bytes = 8 * kMebibyte;
  return config;
}

void make_open_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0777) != 0 || chmod(path.c_str(), 0777) != 0) {
    ADD_FAILURE() << "cannot make " << path;
  }
}

void write_text(const std::string& path, std::string_view text, mode_t mode) {
  std::ofstream(path, std::ios::binary) << text;
  if (chmod(path.c_str(), mode) != 0) ADD_FAILURE() << "cannot write " << path;
}

Fd server(int family, int type, const sockaddr* address, socklen_t size) {
  Fd fd(socket(family, type | SOCK_CLOEXEC, 0));
  const int no = 0;
  if (family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  if (bind(fd.get(), address, size) != 0) return Fd();
  if (type == SOCK_STREAM && listen(fd.get(), 128) != 0) return Fd();
  return fd;
}

Fd unix_server(const std::string& name, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = name.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (name.starts_with("@")) address.sun_path[0] = '\0';
  return server(AF_UNIX, type, reinterpret_cast<sockaddr*>(&address),
                static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size));
}

Fd network_server(int* port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_any;
  address.sin6_port = htons(static_cast<std::uint16_t>(*port));
  Fd fd = server(AF_INET6, SOCK_STREAM, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  socklen_t size = sizeof(address);
  if (fd.valid() && getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    *port = ntohs(address.sin6_port);
  }
  return fd;
}

// Only a network namespace prepared for these tests has such an address.
bool metadata_address_is_ours() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, "169.254.169.254", &address.sin_addr);
  return server(AF_INET, SOCK_STREAM, reinterpret_cast<sockaddr*>(&address), sizeof(address)).valid();
}

void put(local::Sandbox& sandbox, const char* path, std::string contents) {
  local::TestPeer peer;
  peer.to_read = std::move(contents);
  PutFile file;
  file.path = path;
  file.mode = 0755;
  file.size_bytes = peer.to_read.size();
  sandbox.put_file(peer, file);
}

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::kOom: return "oom";
    case Cause::kWall: return "wall";
    case Cause::kOutput: return "output";
    case Cause::kLost: return "lost";
    case Cause::kSignalled: return "signalled";
    default: return "ended otherwise";
  }
}

}  // namespace

World::World() {
  char path[] = "/tmp/berth-attack-XXXXXX";
  if (mkdtemp(path) == nullptr || chmod(path, 0777) != 0) ADD_FAILURE() << "no folder in /tmp";
  folder_ = path;
  write_text(folder_ + "/marker", kMarkerText, 0666);
  write_text(folder_ + "/attack_probes", programs_image(), 0755);
  write_text(folder_ + "/set-user-id", programs_image(), 0755);
  if (geteuid() == 0) {
    constexpr uid_t kDaemon = 1;
    EXPECT_EQ(chown((folder_ + "/set-user-id").c_str(), kDaemon, kDaemon), 0);
    EXPECT_EQ(chmod((folder_ + "/set-user-id").c_str(), 04755), 0);
  }
  for (const char* folder : {"/.git", "/.git/hooks", "/.ssh"}) make_open_folder(folder_ + folder);
  abstract_ = "berth-attack-" + local::random_hex(8);
  secret_ = "secret-" + local::random_hex(12);
  listen_at(folder_ + "/socket");
  listen_abstractly();
  listen_on_network();
  start_decoy();
}

World::~World() {
  if (decoy_ > 0) {
    kill(decoy_, SIGKILL);
    waitpid(decoy_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void World::listen_at(const std::string& path) {
  servers_.push_back(unix_server(path, SOCK_STREAM));
  EXPECT_TRUE(servers_.back().valid());
  EXPECT_EQ(chmod(path.c_str(), 0777), 0);
}

void World::listen_abstractly() {
  servers_.push_back(unix_server("@" + abstract_, SOCK_STREAM));
  EXPECT_TRUE(servers_.back().valid());
  servers_.push_back(unix_server("@" + abstract_ + "-datagram", SOCK_DGRAM));
  EXPECT_TRUE(servers_.back().valid());
}

void World::listen_on_network() {
  servers_.push_back(network_server(&port_));
  EXPECT_TRUE(servers_.back().valid());
  own_network_ = metadata_address_is_ours();
  if (!own_network_) return;
  for (int port : {53, 853}) {
    servers_.push_back(network_server(&port));
    EXPECT_TRUE(servers_.back().valid()) << port;
  }
}

void World::start_decoy() {
  std::string variable = "SECRET=" + secret_;
  std::string argument = "/" + secret_;
  char program[] = "/bin/cat";
  char input[] = "-";
  char* const argv[] = {program, input, argument.data(), nullptr};
  char* const environment[] = {variable.data(), nullptr};
  // It waits for input that never comes.
  local::Pipe pipe = local::make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe.read.get(), STDIN_FILENO);
  if (posix_spawn(&decoy_, program, &actions, nullptr, argv, environment) != 0) decoy_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  servers_.push_back(std::move(pipe.write));
  EXPECT_GT(decoy_, 0);
}

std::vector<std::pair<std::string, std::string>> World::environment() const {
  return {{"HOST_FOLDER", folder_},
          {"HOST_PORT", std::to_string(port_)},
          {"ABSTRACT", abstract_},
          {"SECRET_BACKWARDS", std::string(secret_.rbegin(), secret_.rend())}};
}

std::string World::fingerprint() const {
  std::ostringstream text;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) text << file << "\n";
  text << file_text(folder_ + "/marker") << "\n";
  const std::string mounts = file_text("/proc/self/mountinfo");
  text << std::count(mounts.begin(), mounts.end(), '\n') << " mounts\n";
  for (const char* path : {"/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern"}) {
    text << file_text(path);
  }
  struct stat null{};
  stat("/dev/null", &null);
  text << null.st_mode << " " << null.st_rdev << "\n";
  return text.str();
}

Scene::Scene(const World& world, std::uint32_t left_out, local::StartupChoice startup)
    : world_(world),
      own_root_((left_out & bit(Layer::kMount)) == 0),
      machine_(small_config(left_out, startup)),
      folder_(own_root_ ? "/workspace" : world.folder()),
      sandbox_(make()) {}

std::shared_ptr<local::Sandbox> Scene::make() {
  const auto made = machine_.sandbox();
  if (!own_root_) return made;
  put(*made, "/workspace/attack_probes", programs_image());
  put(*made, "/workspace/become.py", "import os, sys\nos.execv(sys.argv[1], sys.argv[1:])\n");
  return made;
}

std::shared_ptr<local::Sandbox> Scene::neighbour() { return make(); }

std::string Scene::run(std::string_view program, Command command) {
  return run_in(*sandbox_, program, std::move(command));
}

std::string Scene::run_in(local::Sandbox& sandbox, std::string_view program, Command command) {
  const auto environment = world_.environment();
  for (const auto& [key, value] : environment) command.env.push_back({key, value});
  command.cwd = folder_;
  std::vector<std::string> argv{"./attack_probes", std::string(program)};
  if (sandbox.startup() == local::Startup::kTemplate) {
    argv.insert(argv.begin(), {"python3", "/workspace/become.py"});
    command.env.insert(command.env.end(), {{"PYTHONUNBUFFERED", "1"}, {"PYTHONDONTWRITEBYTECODE", "1"}});
  }
  const local::Ran ran = local::run(sandbox, argv, std::move(command));
  if (ran.result.cause == Cause::kExited && ran.result.exit_code == 0) return ran.out;
  const bool exited = ran.result.cause == Cause::kExited;
  return ran.out.substr(0, 4096) + "\nthe end: " +
         (exited ? "exit " + std::to_string(ran.result.exit_code) + " " + ran.err
                 : std::string(name_of(ran.result.cause))) + "\n";
}

bool Scene::works() {
  Command command;
  command.cwd = folder_;
  bool works = false;
  const auto failure = local::failure_of([&] {
    const local::Ran ran = local::run(*sandbox_, {"/bin/true"}, std::move(command));
    works = ran.result.cause == Cause::kExited && ran.result.exit_code == 0;
  });
  return works && !failure;
}

std::map<std::string, std::string, std::less<>> answers(std::string_view said) {
  std::map<std::string, std::string, std::less<>> found;
  while (!said.empty()) {
    const std::string_view line = said.substr(0, said.find('\n'));
    said.remove_prefix(std::min(said.size(), line.size() + 1));
    // An address may hold colons; the answer never does.
    const std::size_t colon = line.rfind(": ");
    if (colon == std::string_view::npos) continue;
    found[std::string(line.substr(0, colon))] = line.substr(colon + 2);
  }
  return found;
}

bool is_one_of(std::string_view answer, std::string_view several) {
  while (!several.empty()) {
    const std::string_view one = several.substr(0, several.find('|'));
    several.remove_prefix(std::min(several.size(), one.size() + 1));
    if (answer == one) return true;
  }
  return false;
}

}  // namespace berth::attack
