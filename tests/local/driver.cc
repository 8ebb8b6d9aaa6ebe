// driver STATE_DIR VERB [NAME]
//
// A provider in a process of its own, for tests that need one to be killed or to know nothing.
//   hold NAME     makes a sandbox, says "held", starts a command in it and waits
//   destroy NAME  says "gone"
//   lookup NAME   says the numbers of presence and state
//   fence NAME    says the number of presence
//   list          says every name of the owner's
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>

#include "allocations.h"
#include "peer.h"

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

int perform(const std::string& state_dir, const std::string& verb, const std::string& name) {
  Allocations allocations(default_config(), state_dir, "owner");
  if (verb == "hold") return hold(allocations, name);
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
    for (const Listed& item : allocations.list_owned("owner", "").items) say(item.name);
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
