// Daytona: the stand-in of that service. What it keeps, and its endpoints, which are in one source for each
// group of them.
#ifndef BERTH_TESTS_STANDINS_DAYTONA_DAYTONA_H_
#define BERTH_TESTS_STANDINS_DAYTONA_DAYTONA_H_

#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/standins/server/body.h"
#include "tests/standins/server/guest.h"
#include "tests/standins/server/service.h"

namespace berth::standins::daytona {

inline constexpr char kHome[] = "/home/daytona";
inline constexpr char kShell[] = "/bin/bash";

// What a client is refused with: thrown by what an endpoint calls, answered by its group.
struct Refused {
  int status = 400;
  std::string message;
  std::string code = {};  // of the toolbox
  std::string source = "DAYTONA_DAEMON";
};

struct SessionCommand {
  std::string id;
  std::string command;
  bool echoes = true;
  std::shared_ptr<Job> job;
};

struct Session {
  std::string id;
  std::shared_ptr<Job> shell;
  std::vector<SessionCommand> commands;
};

struct Sandbox {
  std::string id;
  std::string name;
  std::string state = "creating";
  std::string desired = "started";
  std::string error_reason;
  boost::json::object shape;  // what a client chose and is told again, as it was given
  boost::json::object labels;
  std::string created_at;
  std::string updated_at;
  std::string signing_key;
  std::int64_t ttl_minutes = 0;         // 0: none
  std::int64_t auto_stop_minutes = 15;  // without a request to it; 0: never
  std::int64_t auto_delete_minutes = -1;  // since it was stopped; -1: never
  std::chrono::steady_clock::time_point made = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point active = made;
  std::chrono::steady_clock::time_point stopped = made;
  std::shared_ptr<boost::asio::steady_timer> timer;  // the next of the three
  std::shared_ptr<Guest> guest;
  std::map<std::string, std::shared_ptr<Session>> sessions;
  std::map<std::string, std::shared_ptr<Job>> contexts;  // of the interpreter
  Environment environment;                               // set by POST /env
  // Faults: how many looks it is not seen, is seen although gone, shows another state.
  std::uint64_t hidden_looks = 0;
  std::uint64_t linger_looks = 0;
  std::uint64_t flap_looks = 0;
  std::uint64_t state_looks = 0;
  std::string shown_state;

  bool gone() const { return state == "destroyed"; }
};

using SandboxPointer = std::shared_ptr<Sandbox>;

struct Snapshot {
  std::string id;
  std::string name;
  std::string state = "active";
  std::string image;
  std::string archive;  // of the work folder; empty: nothing was in it
  std::string created_at;
};

class Daytona final : public Service {
 public:
  explicit Daytona(Machines& machines);

  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  bool strip(std::vector<std::string>* path) const override;
  bool is_signed(const Request& request) const override;
  Response refusal(const Request& request, int status, std::string message) const override;
  void listens_at(std::uint16_t port) override;
  void minute_lasts(std::chrono::milliseconds time) override { minute_ = time; }
  boost::json::object state() const override;
  Task<void> close() override;

 private:
  using Method = Task<Response> (Daytona::*)(Call&);
  using SandboxMethod = Task<Response> (Daytona::*)(Call&, SandboxPointer);

  void add_sandboxes();
  void add_lifecycle();
  void add_stored();
  void add_processes();
  void add_sessions();
  void add_interpreter();
  void add_files();
  void add(std::string name, Method method);
  // The first parameter of the path names the sandbox, by id or name.
  void add_of_sandbox(std::string name, SandboxMethod method);
  // The same of the toolbox, where the sandbox must run.
  void add_of_toolbox(std::string name, SandboxMethod method);
  // One that answers by itself: a stream or a WebSocket.
  void add_stream(std::string name, Task<void> (Daytona::*method)(Call&, SandboxPointer));

  // Throws Refused.
  SandboxPointer find(std::string_view id_or_name) const;
  SandboxPointer running(std::string_view id) const;
  std::string path_in(const Sandbox& sandbox, std::string_view path) const;

  boost::json::object dto(const Sandbox& sandbox, bool listed = false) const;
  Response answer(const Sandbox& sandbox) const { return json_answer(200, dto(sandbox)); }
  // A look at one: false when it is not to be seen this time.
  bool look(Sandbox* sandbox) const;
  void destroy(SandboxPointer sandbox);
  // Waits for whatever of its timers comes first; called again whenever one of them has changed.
  std::chrono::steady_clock::time_point due(const Sandbox& sandbox) const;
  void arm(const SandboxPointer& sandbox);
  void act_in_time(const SandboxPointer& sandbox);
  Task<void> halt(SandboxPointer sandbox);
  Task<void> finish_destroying(SandboxPointer sandbox);
  Task<void> boot(SandboxPointer sandbox, std::string archive);
  void check_free(std::string_view name) const;
  void check_create(const boost::json::object& body) const;
  SandboxPointer keep(const boost::json::object& body);

  Task<Response> create(Call& call);
  Task<Response> list(Call& call);
  Task<Response> get(Call& call);
  Task<Response> remove(Call& call);
  Task<Response> start(Call& call, SandboxPointer sandbox);
  Task<Response> stop(Call& call, SandboxPointer sandbox);
  Task<Response> pause(Call& call, SandboxPointer sandbox);
  Task<Response> archive(Call& call, SandboxPointer sandbox);
  Task<Response> recover(Call& call, SandboxPointer sandbox);
  Task<Response> resize(Call& call, SandboxPointer sandbox);
  Task<Response> set_labels(Call& call, SandboxPointer sandbox);
  Task<Response> set_interval(Call& call, SandboxPointer sandbox);
  Task<Response> set_public(Call& call, SandboxPointer sandbox);
  Task<Response> set_network(Call& call, SandboxPointer sandbox);
  Task<Response> touch(Call& call, SandboxPointer sandbox);
  Task<Response> take_snapshot(Call& call, SandboxPointer sandbox);
  Task<Response> fork(Call& call, SandboxPointer sandbox);
  Task<Response> signing_key(Call& call, SandboxPointer sandbox);
  Task<Response> preview_url(Call& call, SandboxPointer sandbox);
  Task<Response> toolbox_url(Call& call, SandboxPointer sandbox);

  Task<Response> create_snapshot(Call& call);
  Task<Response> list_snapshots(Call& call);
  Task<Response> get_snapshot(Call& call);
  Task<Response> delete_snapshot(Call& call);
  Task<Response> set_snapshot_active(Call& call);
  Task<Response> create_volume(Call& call);
  Task<Response> list_volumes(Call& call);
  Task<Response> get_volume(Call& call);
  Task<Response> get_volume_by_name(Call& call);
  Task<Response> delete_volume(Call& call);
  Task<Response> config(Call& call);
  Task<Response> current_key(Call& call);
  Task<Response> health(Call& call);
  Snapshot* find_snapshot(std::string_view id_or_name);
  boost::json::object dto(const Snapshot& snapshot) const;

  Task<Response> execute(Call& call, SandboxPointer sandbox);
  Task<Response> code_run(Call& call, SandboxPointer sandbox);
  Task<Response> set_environment(Call& call, SandboxPointer sandbox);
  Task<Response> version(Call& call, SandboxPointer sandbox);
  Task<Response> work_dir(Call& call, SandboxPointer sandbox);
  Task<Response> metrics(Call& call, SandboxPointer sandbox);
  // Within `seconds` when those are not 0. Throws Refused at their end.
  Task<std::shared_ptr<Job>> run_within(SandboxPointer sandbox, Program program, std::string input,
                                        std::int64_t seconds);

  Task<Response> create_session(Call& call, SandboxPointer sandbox);
  Task<Response> list_sessions(Call& call, SandboxPointer sandbox);
  Task<Response> get_session(Call& call, SandboxPointer sandbox);
  Task<Response> delete_session(Call& call, SandboxPointer sandbox);
  Task<Response> exec_in_session(Call& call, SandboxPointer sandbox);
  Task<Response> get_command(Call& call, SandboxPointer sandbox);
  Task<Response> give_input(Call& call, SandboxPointer sandbox);
  Task<void> logs(Call& call, SandboxPointer sandbox);
  std::shared_ptr<Session> find_session(const Sandbox& sandbox, std::string_view id) const;
  SessionCommand& find_command(const Sandbox& sandbox, const Call& call) const;

  Task<Response> create_context(Call& call, SandboxPointer sandbox);
  Task<Response> list_contexts(Call& call, SandboxPointer sandbox);
  Task<Response> delete_context(Call& call, SandboxPointer sandbox);
  Task<void> interpret(Call& call, SandboxPointer sandbox);
  Task<std::shared_ptr<Job>> start_interpreter(SandboxPointer sandbox, std::string folder);

  Task<Response> upload(Call& call, SandboxPointer sandbox);
  Task<Response> upload_one(Call& call, SandboxPointer sandbox);
  Task<Response> download(Call& call, SandboxPointer sandbox);
  Task<Response> bulk_download(Call& call, SandboxPointer sandbox);
  Task<Response> list_files(Call& call, SandboxPointer sandbox);
  Task<Response> file_info(Call& call, SandboxPointer sandbox);
  Task<Response> delete_file(Call& call, SandboxPointer sandbox);
  Task<Response> make_folder(Call& call, SandboxPointer sandbox);
  Task<Response> move_file(Call& call, SandboxPointer sandbox);
  Task<Response> set_permissions(Call& call, SandboxPointer sandbox);
  Task<Response> find_in_files(Call& call, SandboxPointer sandbox);
  Task<Response> search_files(Call& call, SandboxPointer sandbox);
  Task<Response> replace_in_files(Call& call, SandboxPointer sandbox);

  Machines& machines_;
  std::vector<Endpoint> endpoints_;
  std::string toolbox_;
  std::chrono::milliseconds minute_ = std::chrono::minutes(1);
  std::map<std::string, SandboxPointer> sandboxes_;  // by id, in the order of their making below
  std::vector<SandboxPointer> in_order_;
  std::vector<Snapshot> snapshots_;
  std::vector<boost::json::object> volumes_;
};

// A random id as the service gives them.
std::string fresh_id();
// A parameter of a request; `otherwise` where it is no number.
std::size_t number(std::string_view text, std::size_t otherwise);

// The toolbox' form of a refusal.
Response toolbox_refusal(const Request& request, const Refused& refused);

}  // namespace berth::standins::daytona

#endif  // BERTH_TESTS_STANDINS_DAYTONA_DAYTONA_H_
