// Where an attack takes place: the host with things that nobody inside should reach, and a sandbox.
#ifndef BERTH_TESTS_ATTACK_SCENE_H_
#define BERTH_TESTS_ATTACK_SCENE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "machine.h"

namespace berth::attack {

// The contents of the host's file; the programs inside look for them.
inline constexpr std::string_view kMarkerText = "a file of the host";

// A folder anyone may write to, with a file, a listening socket, a copy of the programs and one with the
// set-user-ID bit; an abstract socket; a server on every address; a process with a secret in its
// environment and its arguments. All of it goes with the object.
class World {
 public:
  World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  const std::string& folder() const { return folder_; }
  // True when the addresses of the probes belong to this network namespace.
  bool own_network() const { return own_network_; }
  std::vector<std::pair<std::string, std::string>> environment() const;

  // What would show that something was done to the host, as text to compare.
  std::string fingerprint() const;

 private:
  void listen_at(const std::string& path);
  void listen_abstractly();
  void listen_on_network();
  void start_decoy();

  std::string folder_;
  std::string abstract_;
  std::string secret_;
  std::vector<local::Fd> servers_;
  int port_ = 0;
  bool own_network_ = false;
  pid_t decoy_ = -1;
};

// One sandbox with some layers left out, and where in it the programs are. Where it is forked from a
// template, an interpreter that was forked with it becomes the first program, which so has whatever that
// interpreter has.
class Scene {
 public:
  Scene(const World& world, std::uint32_t left_out,
        local::StartupChoice startup = local::StartupChoice::kCold);

  // Goes on in a fresh sandbox.
  void renew() { sandbox_ = make(); }

  // What the program said; how it ended when it did not exit by itself, in parentheses.
  std::string run(std::string_view program, Command command = {});
  std::string run_in(local::Sandbox& sandbox, std::string_view program, Command command = {});

  // True when a sandbox runs a command as if nothing had been.
  bool works();

  // A second sandbox of the same machine.
  std::shared_ptr<local::Sandbox> neighbour();

  local::Machine& machine() { return machine_; }
  local::Sandbox& sandbox() { return *sandbox_; }
  const World& world() const { return world_; }
  // The working folder of the programs, as paths inside begin.
  const std::string& folder() const { return folder_; }

 private:
  std::shared_ptr<local::Sandbox> make();

  const World& world_;
  const bool own_root_;
  local::Machine machine_;
  std::string folder_;
  std::shared_ptr<local::Sandbox> sandbox_;
};

// The lines a program said: what it tried, and the answer.
std::map<std::string, std::string, std::less<>> answers(std::string_view said);

// True when `answer` is one of `several`, which '|' separates.
bool is_one_of(std::string_view answer, std::string_view several);

}  // namespace berth::attack

#endif  // BERTH_TESTS_ATTACK_SCENE_H_
