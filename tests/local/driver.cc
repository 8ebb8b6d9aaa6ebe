// driver STATE_DIR VERB [NAME]
//
// A provider in a process of its own, for tests that need one to be killed or to know nothing.
//   warm          makes a template and ready sandboxes, says "warm" and waits
//   hold NAME     makes a sandbox, says "held", starts a command in it and waits
//   destroy NAME  says "gone"
//   lookup NAME   says the numbers of presence and state
//   fence NAME    says the number of presence
//   list          says every name of the owner's
//   sweep         destroys every one of them, says how many
//   cycle COUNT   makes, uses and destroys so many sandboxes; after each it says how many descriptors this
//                 process has, and kilobytes of memory
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "allocations.h"
#include "machine.h"

namespace berth::local {
namespace {

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

int hold(Allocations& allocations, const std::string& name) {
  CreateSpec spec;
  spec.owner_tag = "owner";
  const auto sandbox = allocations.create(name, spec);
  std::thread command([&] {
    CapturePeer peer;
    Command forever;
    forever.argv = {"/bin/sh", "-c", "trap '' TERM HUP; setsid sleep 1000 & sleep 1000"};
    sandbox->run(peer, forever);
  });
  say("held");
  command.join();
  return 0;
}

int sweep(Allocations& allocations) {
  int swept = 0;
  for (const Listed& item : allocations.list_owned("owner", "").items) {
    if (item.name.empty()) continue;  // somebody keeps it ready
    allocations.destroy(item.name, std::chrono::seconds(20));
    ++swept;
  }
  say(std::to_string(swept));
  return 0;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    count += entry.path().empty() ? 0 : 1;
  }
  return count;
}

std::string resident_kilobytes() {
  const std::string text = read_small_file("/proc/self/statm").value_or("0 0");
  return std::to_string(std::stol(text.substr(text.find(' '))) * 4);
}

// A program in the shell that leaves a process and a file behind, as programs do.
std::string run_in_shell(Sandbox& sandbox) {
  return shell(sandbox, "echo fine > file; sleep 1000 & cat file").out;
}

// A file that Python runs as the host has it run, by a forked interpreter where there is one.
std::string run_in_python(Sandbox& sandbox) {
  TestPeer peer;
  peer.to_read = "print('fine')\n";
  PutFile file;
  file.path = "/workspace/main.py";
  file.size_bytes = peer.to_read.size();
  sandbox.put_file(peer, file);
  Command command;
  command.env = {{"PYTHONUNBUFFERED", "1"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
  return run(sandbox, {"python3", "/workspace/main.py"}, std::move(command)).out;
}

int cycle(Allocations& allocations, int count) {
  CreateSpec spec;
  spec.owner_tag = "owner";
  for (int i = 0; i < count; ++i) {
    const std::string name = "cycle-" + random_hex(8);
    const auto sandbox = allocations.create(name, spec);
    const std::string said = i % 2 == 0 ? run_in_shell(*sandbox) : run_in_python(*sandbox);
    allocations.destroy(name, std::chrono::seconds(20));
    say(said == "fine\n" ? std::to_string(open_descriptors()) + " " + resident_kilobytes()
                         : "the command said: " + said);
  }
  return 0;
}

int perform(const std::string& state_dir, const std::string& verb, const std::string& name) {
  Config config = default_config();
  const char* const startup = std::getenv("BERTH_LOCAL_STARTUP");
  const bool ahead = verb == "warm" || (startup != nullptr && std::string(startup) == "template");
  config.startup = ahead && verb != "sweep" ? StartupChoice::kTemplate : StartupChoice::kCold;
  // One template: not every machine has a Node.js that is known to fork.
  config.templates[index_of(Interpreter::kNode)] = false;
  Allocations allocations(config, state_dir, "owner");
  if (verb == "warm") {
    if (!allocations.pool().await_full(std::chrono::minutes(2))) return 1;
    say("warm");
    pause();
  }
  if (verb == "hold") return hold(allocations, name);
  if (verb == "sweep") return sweep(allocations);
  if (verb == "cycle") return cycle(allocations, std::stoi(name));
  if (verb == "destroy") {
    allocations.destroy(name, std::chrono::seconds(20));
    say("gone");
  } else if (verb == "lookup") {
    const Found found = allocations.lookup(name);
    say(std::to_string(static_cast<int>(found.presence)) + " " +
        std::to_string(static_cast<int>(found.state)));
  } else if (verb == "fence") {
    say(std::to_string(static_cast<int>(allocations.fence(name).presence)));
  } else if (verb == "list") {
    for (const Listed& item : allocations.list_owned("owner", "").items) {
      if (!item.name.empty()) say(item.name);
    }
  } else {
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace berth::local

int main(int count, char** arguments) {
  if (count < 3) return 2;
  try {
    return berth::local::perform(arguments[1], arguments[2], count > 3 ? arguments[3] : "");
  } catch (const berth::Failure& failure) {
    std::printf("failure: %s\n", failure.what());
    return 1;
  }
}
