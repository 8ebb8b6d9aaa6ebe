// Guest: one sandbox of a service, which is one real local sandbox with the agent in it. Commands run in
// it, any number at once; files are read and written in it; ending it destroys the local sandbox.
//
// Lives on one loop. A guest may end by itself (its lifetime, its memory): everything in it then counts as
// lost, and alive() says so.
#ifndef BERTH_TESTS_STANDINS_SERVER_GUEST_H_
#define BERTH_TESTS_STANDINS_SERVER_GUEST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/lifecycle/cancellation.h"
#include "tests/standins/agent/wire.h"
#include "tests/standins/server/bell.h"
#include "tests/standins/server/machines.h"
#include "tests/standins/server/transcript.h"

namespace berth::standins {

// Where programs and files of a guest are by default.
inline constexpr char kWorkFolder[] = "/workspace";

struct Program {
  std::vector<std::string> argv;
  std::string cwd = kWorkFolder;
  Environment environment;
  std::uint8_t flags = 0;  // wire::StartFlag
};

// A process of a guest, or a command in one of its shells.
struct Job {
  explicit Job(const boost::asio::any_io_executor& executor) : bell(executor) {}

  std::uint32_t id = 0;
  bool started = false;
  int start_error = 0;          // errno of a start that failed
  bool ended = false;
  bool lost = false;            // ended with its guest
  int status = 0;               // as of wait(2)
  Transcript transcript;
  Bell bell;                    // rings at every change

  bool over() const { return ended || start_error != 0; }
  // As a shell says it: 128 + n for signal n.
  int exit_code() const;
};

struct FileEntry {
  std::string name;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;
  std::uint64_t modified_ms = 0;
  std::uint32_t uid = 0;
};

class Guest final : public std::enable_shared_from_this<Guest>,
                    private OutputSink,
                    private InputSource {
 public:
  static Task<Result<std::shared_ptr<Guest>>> start(Machines& machines, Environment environment,
                                                    Duration lifetime);
  explicit Guest(Machines& machines);

  bool alive() const { return alive_; }

  // Comes back once it runs, or has failed to start.
  Task<std::shared_ptr<Job>> run(Program program);
  // The next command of a shell that run() started, which reads its standard input.
  Task<std::shared_ptr<Job>> run_in(std::shared_ptr<Job> shell, std::string command);
  void input(const Job& job, std::string_view bytes);  // empty: nothing more comes
  void signal(const Job& job, int number);
  // It and everything it started; `job` was started supervised.
  Task<void> end_tree(std::shared_ptr<Job> job);
  // Nobody says any more how it ended: it counts as killed. What it writes is not kept.
  void forget(Job& job);
  // Every process there is. Files stay.
  Task<void> end_all();
  // Until it is over.
  static Task<void> wait(std::shared_ptr<Job> job);
  // One program from begin to end with this input; nothing when it does not start.
  Task<std::shared_ptr<Job>> finish(Program program, std::string input = {});

  // Each gives an errno, 0: done.
  Task<int> read_file(std::string path, std::string* contents);
  Task<int> write_file(std::string path, std::uint32_t mode, std::string contents);
  Task<int> stat(std::string path, FileEntry* entry);
  Task<int> list(std::string path, std::vector<FileEntry>* entries);
  Task<int> make_folder(std::string path, std::uint32_t mode);
  Task<int> remove(std::string path, bool recursive);
  Task<int> rename(std::string from, std::string to);
  Task<int> set_mode(std::string path, std::uint32_t mode);

  // Destroys the local sandbox; true once it is gone.
  Task<bool> end();

 private:
  struct Reply {
    explicit Reply(const boost::asio::any_io_executor& executor) : bell(executor) {}
    bool done = false;
    int error = 0;
    std::string data;
    Bell bell;
  };

  Task<Status> boot(Environment environment, Duration lifetime);
  Task<void> run_agent();
  void send(wire::Kind kind, std::uint32_t id, std::string_view payload);
  std::shared_ptr<Job> new_job();
  static Task<void> started(std::shared_ptr<Job> job);
  Task<std::shared_ptr<Reply>> ask(wire::Kind kind, std::string payload, std::string_view contents,
                                   bool with_contents);
  Task<int> ask_done(wire::Kind kind, std::string payload);
  void take(wire::Kind kind, std::uint32_t id, std::string_view payload);
  void lose_everything();

  Flow write(Stream stream, std::string_view bytes) override;
  void on_resume(std::function<void()>) override {}
  State read(std::string& into, std::size_t bytes_max) override;
  void on_ready(std::function<void()> ready) override { ready_ = std::move(ready); }

  Provider& provider() { return worker_->loaded->provider(); }

  Machines& machines_;
  Worker* worker_ = nullptr;  // null: it has no place any more
  std::string name_;
  std::string ref_;
  Environment environment_;
  bool alive_ = false;
  bool agent_over_ = true;
  Cancellation cancellation_;
  Bell bell_;
  std::uint32_t last_id_ = 0;
  std::map<std::uint32_t, std::shared_ptr<Job>> jobs_;
  std::map<std::uint32_t, std::shared_ptr<Reply>> replies_;
  std::string inbox_;
  std::string outbox_;
  std::size_t outbox_at_ = 0;
  std::function<void()> ready_;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_GUEST_H_
