// Bench: a provider loaded into this process and driven one call at a time, with everything it does
// written down.
//
// It stands on the same driver, binding and checks as the worker that hosts use, so a breach that a
// host would see is seen here under the same clause; ScriptedHost adds what only a test can look at.
// One thread calls these methods; the provider may call back from any.
#ifndef BERTH_CORE_CONFORMANCE_BENCH_H_
#define BERTH_CORE_CONFORMANCE_BENCH_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/conformance/scripted_host.h"
#include "core/conformance/subject.h"
#include "core/os/fd.h"
#include "core/plugin/table_driver.h"

namespace berth::conformance {

struct Chunk {
  Stream stream = Stream::kStdout;
  std::string bytes;
};

// One operation as far as it has come.
struct Record {
  plugin::Slot slot = plugin::Slot::kProbe;
  std::string subject;  // the name or reference it is about
  bool complete = false;
  std::uint32_t completions = 0;
  plugin::Reply reply;
  std::string stage;  // the last one
  std::vector<std::string> stages;
  std::vector<Chunk> chunks;
  Instant started{};
  Instant completed_at{};
  std::thread::id completed_on;

  std::string bytes_of(Stream stream) const;
  std::uint64_t size_of(Stream stream) const;
};

// How the host treats one operation.
struct Treatment {
  Duration deadline = std::chrono::minutes(5);
  bool reads = true;          // false: output credit is given only by Bench::grant
  std::string input;          // what `input` gives
  bool input_ends = true;     // false: the end comes with Bench::end_input
  std::size_t input_piece_bytes = plugin::kTransferBytesMax;
};

class Bench final : public plugin::DriverEvents {
 public:
  using OnProgress = std::function<void(std::string_view operation, std::string_view stage)>;

  // `on_progress` is told what is about to be called, and each stage.
  Bench(const Subject& subject, OnProgress on_progress);
  ~Bench() override;

  // Loads, asks and checks. False when `findings` has a refusal.
  bool load(const std::function<void(std::string_view)>& on_step, registry::Findings& findings);

  plugin::OpId start(plugin::Request request, Treatment treatment = {});
  // Waits until it is complete; false when that takes longer than `patience`.
  bool wait(plugin::OpId op, Duration patience);
  // Waits until `holds` or `patience` has passed, keeping data flowing; what `holds` said last.
  bool wait_until(Duration patience, const std::function<bool()>& holds);
  void cancel(plugin::OpId op);
  void grant(plugin::OpId op, std::uint64_t bytes);
  void limit(plugin::OpId op, Stream stream);
  void give(plugin::OpId op, std::string_view bytes, bool end);

  Record record(plugin::OpId op);
  bool complete(plugin::OpId op);
  std::vector<plugin::Violation> violations();
  std::vector<std::string> log_lines();
  std::size_t open_operations() { return driver_->open_operations(); }
  std::size_t busy_threads() { return driver_->busy_threads(); }
  // Joins the threads that were lent; only when none is busy.
  void close_threads() { driver_->close_threads(); }
  ScriptedHost& host() { return *host_; }

 private:
  struct Flow {
    Treatment treatment;
    std::size_t input_given = 0;
    std::uint64_t owed = 0;      // output taken and not yet granted again
    std::uint64_t room = plugin::kInputWindowBytes;
    bool input_over = false;
  };

  void stage(plugin::OpId op, std::string_view stage) override;
  void output(plugin::OpId op, Stream stream, std::string_view bytes) override;
  void input_taken(plugin::OpId op, std::uint64_t bytes) override;
  void completed(plugin::OpId op, plugin::Reply reply) override;
  void log(std::uint32_t level, std::string_view line) override;
  void violation(const plugin::Violation& violation) override;

  void pump();

  const Subject& subject_;
  OnProgress on_progress_;
  std::unique_ptr<plugin::TableDriver> driver_;
  std::unique_ptr<ScriptedHost> host_;
  plugin::OpId last_op_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<plugin::OpId, Record> records_;
  std::map<plugin::OpId, Flow> flows_;
  std::vector<plugin::Violation> violations_;
  std::vector<std::string> log_lines_;
};

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_BENCH_H_
