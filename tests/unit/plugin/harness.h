// Loads providers and runs their operations from plain test code, on a loop of its own.
#ifndef BERTH_TESTS_UNIT_PLUGIN_HARNESS_H_
#define BERTH_TESTS_UNIT_PLUGIN_HARNESS_H_

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifecycle/provider.h"
#include "core/plugin/load.h"

namespace berth::plugin {

// An operation that was begun; `answer` is there once it has ended.
template <class T>
struct Pending {
  std::optional<T> answer;
  bool done() const { return answer.has_value(); }
};
template <class T>
using PendingPointer = std::shared_ptr<Pending<T>>;

class Harness {
 public:
  Harness();
  ~Harness();

  // A request for a plugin of the test folder, or of the build's providers.
  static std::filesystem::path test_plugin(std::string_view name);
  static std::filesystem::path reference();
  LoadRequest request(const std::filesystem::path& file, registry::Hosting hosting) const;

  Result<std::unique_ptr<LoadedProvider>> load(LoadRequest request);
  void close(LoadedProvider& loaded);

  // Starts on the loop; nothing happens until pump.
  PendingPointer<Answer<RunEnd>> begin(Task<Answer<RunEnd>> task);
  PendingPointer<Answer<Created>> begin(Task<Answer<Created>> task);
  PendingPointer<Answer<Found>> begin(Task<Answer<Found>> task);
  PendingPointer<Answer<Nothing>> begin(Task<Answer<Nothing>> task);
  PendingPointer<Answer<FileGot>> begin(Task<Answer<FileGot>> task);
  PendingPointer<Answer<Destroyed>> begin(Task<Answer<Destroyed>> task);
  PendingPointer<Answer<std::vector<Listed>>> begin(Task<Answer<std::vector<Listed>>> task);

  // From now on the loop looks before it sleeps, as that of a command does (run_loop).
  void look();
  // Runs the loop until the condition holds; false after a generous while.
  bool pump(const std::function<bool()>& until);
  template <class T>
  T finish(const PendingPointer<T>& pending) {
    pump([&] { return pending->done(); });
    return pending->done() ? *pending->answer : T{};
  }
  template <class T>
  T await(Task<T> task) {
    return finish(begin(std::move(task)));
  }
  // Lets a moment pass on the loop.
  void idle(Duration duration);

  const std::vector<std::string>& log() const { return log_; }
  bool logged(std::string_view part) const;

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
  std::vector<std::string> log_;
};

OperationContext within(Duration duration, Cancellation* cancellation = nullptr);
Command command(std::vector<std::string> argv);

// Keeps everything; may be told to pause or to stop at a number of bytes.
class TestSink final : public OutputSink {
 public:
  Flow write(Stream stream, std::string_view bytes) override;
  void on_resume(std::function<void()> resume) override { resume_ = std::move(resume); }
  void resume();

  std::string text;  // standard output and files
  std::string errors;
  bool pause_each = false;         // every write pauses until resume()
  std::uint64_t limit_bytes = 0;   // 0: none
  std::uint64_t largest_burst = 0; // bytes written between two resumes
  int writes = 0;
  bool paused = false;

 private:
  std::function<void()> resume_;
  std::uint64_t burst_ = 0;
};

// Gives a text, a piece at a time; with `slow`, each piece only after supply().
class TestSource final : public InputSource {
 public:
  explicit TestSource(std::string text, std::size_t piece = 65536, bool slow = false)
      : text_(std::move(text)), piece_(piece), slow_(slow) {}
  State read(std::string& into, std::size_t bytes_max) override;
  void on_ready(std::function<void()> ready) override { ready_ = std::move(ready); }
  void supply();

 private:
  std::string text_;
  std::size_t at_ = 0;
  std::size_t piece_;
  bool slow_;
  bool supplied_ = false;
  std::function<void()> ready_;
};

// What a careless plugin could leave behind in this process.
struct Footprint {
  std::size_t descriptors = 0;
  std::size_t children = 0;
  friend bool operator==(const Footprint&, const Footprint&) = default;
};
Footprint footprint();
std::ostream& operator<<(std::ostream& out, const Footprint& footprint);

}  // namespace berth::plugin

#endif  // BERTH_TESTS_UNIT_PLUGIN_HARNESS_H_
