#include "scenes.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <thread>

namespace berth::attack {
namespace {

// "refused" or "done"; what is read has to be the host's file for that.
std::string read_file(Scene& scene, const std::string& path) {
  local::TestPeer peer;
  GetFile file;
  file.path = path;
  file.max_bytes = 4096;
  const auto failure = local::failure_of([&] { scene.sandbox().get_file(peer, file); });
  if (failure) return "refused";
  return peer.file == kMarkerText ? "done" : "something else";
}

std::string write_file(Scene& scene, const std::string& path, std::string contents,
                       std::uint64_t announced_bytes) {
  local::TestPeer peer;
  peer.to_read = std::move(contents);
  PutFile file;
  file.path = path;
  file.size_bytes = announced_bytes;
  return local::failure_of([&] { scene.sandbox().put_file(peer, file); }) ? "refused" : "done";
}

std::string write_file(Scene& scene, const std::string& path, std::string contents) {
  const std::uint64_t size = contents.size();
  return write_file(scene, path, std::move(contents), size);
}

void remove(Scene& scene, const std::string& names) {
  Command command;
  command.cwd = scene.folder();
  local::shell(scene.sandbox(), "rm -f " + names, std::move(command));
}

std::string line(const std::string& what, const std::string& answer) { return what + ": " + answer + "\n"; }

enum class Ending { kByItself, kCancelled };

// Runs a script and acts once it has said something.
template <typename Act>
std::string run_meanwhile(Scene& scene, std::string_view script, Ending ending, Act act) {
  Command command;
  command.argv = {"/bin/sh", "-c", script};
  command.cwd = scene.folder();
  local::TestPeer peer;
  RunResult result;
  std::thread runner([&] { result = scene.sandbox().run(peer, command); });
  local::eventually([&] { return peer.taken_bytes > 0; });
  act();
  if (ending == Ending::kCancelled) peer.cancel();
  runner.join();
  return peer.out + line("the command", result.cause == Cause::kCancelled ? "cancelled" : "ended otherwise");
}

}  // namespace

std::string follow_links(Scene& scene) {
  std::string said = scene.run("lay_links");
  const std::string& here = scene.folder();
  const std::string& host = scene.world().folder();
  said += line("read through a link", read_file(scene, here + "/link/marker"));
  said += line("read through a link of many ..", read_file(scene, here + "/up/marker"));
  said += line("read by .. in the path", read_file(scene, here + "/../../../.." + host + "/marker"));
  said += line("read through /proc/self/root", read_file(scene, here + "/magic" + host + "/marker"));
  said += line("read a pipe", read_file(scene, here + "/pipe"));
  said += line("write through a link", write_file(scene, here + "/link/.git/written", "x"));
  said += line("write through /proc/self/root", write_file(scene, here + "/magic/tmp/written", "x"));
  remove(scene, "link magic up pipe written " + host + "/.git/written");
  return said;
}

std::string upload_elsewhere(Scene& scene) {
  constexpr std::uint64_t kTebibyte = std::uint64_t{1} << 40;
  const std::string& here = scene.folder();
  std::string said;
  // Inside, above the work folder is the root, which nobody writes to.
  const std::string name_with_dots = here + "/../" + scene.world().folder().substr(5) + "-written";
  said += line("a name with ..", write_file(scene, name_with_dots, "x"));
  said += line("an absolute name of the system", write_file(scene, "/usr/bin/env", "x"));
  said += line("a name that is not absolute", write_file(scene, "../written", "x"));
  said += line("more bytes than announced", write_file(scene, here + "/written", "xyz", 2));
  said += line("a terabyte announced", write_file(scene, here + "/written", "xyz", kTebibyte));
  const std::string large(64u << 20, 'x');
  said += line("more bytes than the disk", write_file(scene, here + "/written", large));
  remove(scene, "written " + name_with_dots);
  return said;
}

std::string meet_landlock(Scene& scene) {
  return scene.run("use_a_device_as_a_terminal") + scene.run("reach_host_sockets");
}

std::string plant_hooks(Scene& scene) {
  const std::string said = scene.run("plant_hooks");
  const std::string& host = scene.world().folder();
  for (const char* name : {"/.bashrc", "/.git/hooks/pre-commit", "/.ssh/authorized_keys", "/.mcp.json", "/.vscode"}) {
    unlink((host + name).c_str());
  }
  return said;
}

std::string share_ipc_objects(Scene& scene) {
  std::string said = scene.run("make_ipc_objects");
  const auto neighbour = scene.neighbour();
  said += scene.run_in(*neighbour, "find_ipc_objects");
  said += scene.run("drop_ipc_objects");
  return said;
}

std::string leave_daemon(Scene& scene) {
  const std::string said = run_meanwhile(scene, "./attack_probes become_daemon; sleep 1000", Ending::kCancelled, [] {});
  return said + scene.run("watch_beat");
}

std::string take_watches(Scene& scene) {
  std::string seen;
  const std::string said = run_meanwhile(scene, "exec ./attack_probes take_watches", Ending::kCancelled, [&] {
    const local::Fd own(inotify_init1(IN_CLOEXEC));
    seen = line("what the host can make of them", own.valid() ? "some" : "none");
  });
  return said + seen;
}

std::string watch_others(Scene& scene) {
  return run_meanwhile(scene, "exec ./attack_probes watch_others", Ending::kByItself, [] {
    // Again and again, since the watch may only be about to be set.
    local::eventually([opened = 0]() mutable {
      const local::Fd system(open("/usr/bin/env", O_RDONLY | O_CLOEXEC));
      return ++opened == 40;
    });
  });
}

std::string ask_for_network(Scene& scene) {
  CreateSpec spec;
  spec.network = Network::kOpen;
  const std::size_t before = scene.machine().allocations().list_owned("", "").items.size();
  const auto failure = local::failure_of([&] { scene.machine().sandbox(spec); });
  const bool refused = failure && failure->code() == Code::kUnsupported;
  const bool nothing = scene.machine().allocations().list_owned("", "").items.size() == before;
  return line("a sandbox with a network", refused ? "refused" : "made") +
         line("what is left of it", nothing ? "nothing" : "something");
}

}  // namespace berth::attack
