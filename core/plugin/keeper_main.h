// The keeper: a worker that outlives the host that started it and serves the same user's next ones, so
// that a program that runs for a moment finds the provider loaded and what it makes ahead ready.
//
// A keeper holds one provider, opened once: for one state folder, one configuration, one file. Whoever
// wants to use it says what it would have loaded itself; one that wants something else is refused, and the
// keeper goes. It listens at a socket in a private folder and answers processes of its own user alone. It
// is given nothing secret: a provider that declares variables is never kept.
//
// What a host made ends with the host's connection, as it would with a worker of its own: commands are
// cancelled and sandboxes destroyed. The intents, and the decision what is settled, stay the host's.
//
// A keeper goes when nobody used it for its idle time, when it is told to, and when the program it was
// started from, its state folder or its socket is not there any more. It then still serves those that are
// connected.
#ifndef BERTH_CORE_PLUGIN_KEEPER_MAIN_H_
#define BERTH_CORE_PLUGIN_KEEPER_MAIN_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace berth::plugin {

// The descriptors a keeper is started with, beside those of a worker.
inline constexpr int kKeeperListener = 5;
inline constexpr int kKeeperLock = 6;
inline constexpr std::string_view kKeepArgument = "--keep";

// What a connection begins with, one line from the host, and what the keeper says to it, a line too. After
// "attached" both speak the wire of a worker that has just been told its hello. The other two questions are
// answered by a JSON document, and the connection ends. The first host is attached from the beginning.
inline constexpr std::string_view kKeeperGreeting = "berth-keeper 1 ";
inline constexpr std::string_view kAskAttach = "attach ";  // and the identity
inline constexpr std::string_view kAskStatus = "status";
inline constexpr std::string_view kAskStop = "stop";
inline constexpr std::string_view kSaysAttached = "attached";
inline constexpr std::string_view kSaysChanged = "changed";  // another one is to be started: this one goes
inline constexpr std::size_t kGreetingBytesMax = 256;

// What a keeper is told on its command line, where whoever looks at processes sees it.
struct KeeperArguments {
  std::string identity;
  Duration idle{0};
  std::string folder;
  std::string name;  // of the socket and the lock in it: NAME.sock, NAME.lock
  std::string provider;
  std::string state_dir;
};
std::vector<std::string> to_arguments(const KeeperArguments& arguments);

// Never returns before the keeper goes. The result is an exit code.
int serve_as_keeper(int argc, char** argv);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_KEEPER_MAIN_H_
