// Vercel: the stand-in of Vercel Sandbox. What it keeps, and its endpoints, which are in one source for each
// group of them.
#ifndef BERTH_TESTS_STANDINS_VERCEL_VERCEL_H_
#define BERTH_TESTS_STANDINS_VERCEL_VERCEL_H_

#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/standins/server/body.h"
#include "tests/standins/server/guest.h"
#include "tests/standins/server/service.h"

namespace berth::standins::vercel {

inline constexpr char kHome[] = "/vercel/sandbox";
inline constexpr std::int64_t kTimeoutMostMs = 86'400'000;

// What a client is refused with: thrown by what an endpoint calls.
struct Refused {
  int status = 400;
  std::string code;
  std::string message;
};

struct RunningCommand {
  std::string id;
  std::string name;
  boost::json::array arguments;
  std::string cwd;
  std::string session_id;
  std::int64_t started_at = 0;
  std::int64_t ended_at = 0;
  std::shared_ptr<Job> job;
};
using CommandPointer = std::shared_ptr<RunningCommand>;

// One run of a sandbox, which is one real sandbox while it lasts.
struct Session {
  std::string id;
  std::string sandbox_name;
  std::string project;
  std::string status = "pending";
  std::int64_t vcpus = 2;
  std::string region = "iad1";
  std::string runtime;
  boost::json::object policy;  // as a client gave it
  std::int64_t timeout_ms = 0;
  std::int64_t created_at = 0;
  std::int64_t stop_requested_at = 0;
  std::int64_t stopped_at = 0;
  std::int64_t updated_at = 0;
  std::string source_snapshot;
  std::shared_ptr<Guest> guest;
  std::shared_ptr<boost::asio::steady_timer> end;  // its timeout
  std::vector<CommandPointer> commands;
  // Faults: how many looks it shows another status.
  std::uint64_t state_looks = 0;
  std::string shown_state;
};
using SessionPointer = std::shared_ptr<Session>;

struct Sandbox {
  std::string name;
  std::string project;
  boost::json::object shape;  // what its maker chose and is told again
  boost::json::object policy;
  boost::json::object environment;
  boost::json::array ports;
  bool persistent = true;
  std::string snapshot;  // the current one
  std::int64_t created_at = 0;
  std::int64_t updated_at = 0;
  std::vector<SessionPointer> sessions;  // the last is the current one
  bool deleted = false;
  std::uint64_t hidden_looks = 0;
  std::uint64_t linger_looks = 0;
  std::uint64_t flap_looks = 0;

  Session& current() const { return *sessions.back(); }
};
using SandboxPointer = std::shared_ptr<Sandbox>;

struct Snapshot {
  std::string id;
  std::string session_id;
  std::string sandbox_name;
  std::string project;
  std::string status = "created";
  std::string method;
  std::string parent;
  std::string archive;  // of the work folder
  std::int64_t created_at = 0;
  std::int64_t expires_at = 0;
};
using SnapshotPointer = std::shared_ptr<Snapshot>;

class Vercel final : public Service {
 public:
  explicit Vercel(Machines& machines);

  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  bool strip(std::vector<std::string>* path) const override;
  Response refusal(const Request& request, int status, std::string message) const override;
  void listens_at(std::uint16_t) override {}
  boost::json::object state() const override;
  Task<void> close() override;

 private:
  using Method = Task<Response> (Vercel::*)(Call&);
  using Stream = Task<void> (Vercel::*)(Call&);

  void add_sandboxes();
  void add_sessions();
  void add_commands();
  void add_files();
  void add_stored();
  void add(std::string name, Method method);
  void add_stream(std::string name, Stream method);

  std::string fresh_id(std::string_view kind);
  // All of these throw Refused when there is none.
  SandboxPointer find(const Call& call);
  SessionPointer session(const Call& call) const;
  SessionPointer running(const Call& call) const;
  SnapshotPointer snapshot(std::string_view id) const;
  SandboxPointer of_session(const Session& session) const;
  bool look(Sandbox* sandbox) const;

  boost::json::object dto(const Sandbox& sandbox) const;
  boost::json::object dto(const Session& session) const;
  boost::json::object dto(const Snapshot& snapshot) const;
  boost::json::object dto(const RunningCommand& command) const;
  boost::json::array routes(const Sandbox& sandbox) const;
  // What create, get and fork answer.
  boost::json::object whole(const Sandbox& sandbox) const;

  void check_create(const boost::json::object& body, bool legacy) const;
  SandboxPointer keep(const boost::json::object& body, std::string project);
  // A new session of it, from the archive; its status says how that went.
  Task<void> boot(SandboxPointer sandbox, std::string archive);
  void arm(SessionPointer session);
  Task<std::string> archive_of(SessionPointer session);
  Task<SnapshotPointer> take(SessionPointer session, std::string method, std::int64_t expiration_ms);
  Task<void> end_session(SessionPointer session, std::string status);

  Task<Response> create(Call& call);
  Task<Response> get(Call& call);
  Task<Response> list(Call& call);
  Task<Response> update(Call& call);
  Task<Response> remove(Call& call);
  Task<Response> fork(Call& call);

  Task<Response> list_sessions(Call& call);
  Task<Response> get_session(Call& call);
  Task<Response> stop(Call& call);
  Task<Response> extend(Call& call);
  Task<Response> set_policy(Call& call);
  Task<Response> make_snapshot(Call& call);

  Task<void> run_command(Call& call);
  Task<Response> list_commands(Call& call);
  Task<Response> get_command(Call& call);
  Task<Response> kill(Call& call);
  Task<void> logs(Call& call);
  boost::json::object as_begun(const RunningCommand& command) const;
  CommandPointer command(const Call& call) const;
  // Its output as it comes, until it ends; `framed`: between frames that say what it is.
  Task<void> stream(Call& call, CommandPointer command, bool framed, bool with_logs);
  void note_end(RunningCommand* command);

  Task<Response> write_files(Call& call);
  Task<Response> read_file(Call& call);
  Task<Response> make_folder(Call& call);

  Task<Response> list_snapshots(Call& call);
  Task<Response> snapshot_tree(Call& call);
  Task<Response> get_snapshot(Call& call);
  Task<Response> delete_snapshot(Call& call);
  Task<Response> list_drives(Call& call);
  Task<Response> make_drive(Call& call);
  Task<Response> delete_drive(Call& call);

  Machines& machines_;
  std::vector<Endpoint> endpoints_;
  std::vector<SandboxPointer> sandboxes_;
  std::vector<SnapshotPointer> snapshots_;
  std::vector<boost::json::object> drives_;
  std::uint64_t last_id_ = 0;
};

// A page of `items`, under the name the service has for them. Throws Refused.
boost::json::object page(const Call& call, std::string_view name, const boost::json::array& items);

// The service's own, older form of a policy, which says less than it was given.
boost::json::object shown_policy(const boost::json::object& policy);

}  // namespace berth::standins::vercel

#endif  // BERTH_TESTS_STANDINS_VERCEL_VERCEL_H_
