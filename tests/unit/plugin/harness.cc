#include "tests/unit/plugin/harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdlib>
#include <fstream>

#include "core/base/run_loop.h"

namespace berth::plugin {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

std::size_t entries_of(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                std::filesystem::directory_iterator()));
}

}  // namespace

struct Harness::Loop {
  boost::asio::io_context context{1};
  bool looks = false;

  template <class T>
  PendingPointer<T> begin(Task<T> task) {
    auto pending = std::make_shared<Pending<T>>();
    boost::asio::co_spawn(context, std::move(task), [pending](std::exception_ptr error, T answer) {
      if (error) std::rethrow_exception(error);
      pending->answer = std::move(answer);
    });
    return pending;
  }

  bool pump(const std::function<bool()>& until) {
    if (looks) return pump_looking(until);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!until()) {
      if (std::chrono::steady_clock::now() > end) return false;
      context.restart();
      context.run_one_for(std::chrono::milliseconds(200));
    }
    return true;
  }

  bool pump_looking(const std::function<bool()>& until) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    boost::asio::steady_timer timer(context);
    const std::function<void()> ask = [&] {
      if (until() || std::chrono::steady_clock::now() > end) return context.stop();
      timer.expires_after(std::chrono::milliseconds(1));
      timer.async_wait([&](const boost::system::error_code& error) {
        if (!error) ask();
      });
    };
    context.restart();
    ask();
    run_loop(context);
    return until();
  }
};

// The loop's own descriptors are made now, so that a footprint does not see them come.
Harness::Harness() : loop_(std::make_unique<Loop>()) {
  boost::asio::steady_timer timer(loop_->context, std::chrono::milliseconds(1));
  bool fired = false;
  timer.async_wait([&](const boost::system::error_code&) { fired = true; });
  pump([&] { return fired; });
}
Harness::~Harness() = default;

std::filesystem::path Harness::test_plugin(std::string_view name) {
  return std::filesystem::path(BERTH_TEST_PLUGINS) / fmt::format("{}.so", name);
}

std::filesystem::path Harness::reference() { return BERTH_REFERENCE_PROVIDER; }

LoadRequest Harness::request(const std::filesystem::path& file, registry::Hosting hosting) const {
  LoadRequest request;
  request.file = file;
  request.hosting = hosting;
  const char* const other = std::getenv("BERTH_TEST_WORKER");
  request.worker = other != nullptr ? other : BERTH_WORKER;
  request.owner_tag = "tests";
  return request;
}

Result<std::unique_ptr<LoadedProvider>> Harness::load(LoadRequest request) {
  request.on_log = [this](LogLevel, std::string_view line) { log_.emplace_back(line); };
  std::optional<Result<std::unique_ptr<LoadedProvider>>> loaded;
  boost::asio::co_spawn(loop_->context,
                        load_provider(loop_->context.get_executor(), std::move(request)),
                        [&](std::exception_ptr error, Result<std::unique_ptr<LoadedProvider>> result) {
                          if (error) std::rethrow_exception(error);
                          loaded.emplace(std::move(result));
                        });
  if (!loop_->pump([&] { return loaded.has_value(); }))
    return fail(ErrorKind::kTimeout, "the test's patience with loading is over");
  return std::move(*loaded);
}

void Harness::close(LoadedProvider& loaded) {
  bool closed = false;
  boost::asio::co_spawn(loop_->context,
                        loaded.close(std::chrono::steady_clock::now() + std::chrono::seconds(20)),
                        [&](std::exception_ptr error) {
                          if (error) std::rethrow_exception(error);
                          closed = true;
                        });
  loop_->pump([&] { return closed; });
}

PendingPointer<Answer<RunEnd>> Harness::begin(Task<Answer<RunEnd>> task) {
  return loop_->begin(std::move(task));
}
PendingPointer<Answer<Created>> Harness::begin(Task<Answer<Created>> task) {
  return loop_->begin(std::move(task));
}
PendingPointer<Answer<Found>> Harness::begin(Task<Answer<Found>> task) {
  return loop_->begin(std::move(task));
}
PendingPointer<Answer<Nothing>> Harness::begin(Task<Answer<Nothing>> task) {
  return loop_->begin(std::move(task));
}
PendingPointer<Answer<FileGot>> Harness::begin(Task<Answer<FileGot>> task) {
  return loop_->begin(std::move(task));
}
PendingPointer<Answer<Destroyed>> Harness::begin(Task<Answer<Destroyed>> task) {
  return loop_->begin(std::move(task));
}
PendingPointer<Answer<std::vector<Listed>>> Harness::begin(Task<Answer<std::vector<Listed>>> task) {
  return loop_->begin(std::move(task));
}

bool Harness::pump(const std::function<bool()>& until) { return loop_->pump(until); }

void Harness::look() { loop_->looks = true; }

void Harness::idle(Duration duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
    loop_->context.restart();
    loop_->context.run_one_until(end);
  }
}

bool Harness::logged(std::string_view part) const {
  return std::any_of(log_.begin(), log_.end(), [&](const std::string& line) {
    return line.find(part) != std::string::npos;
  });
}

OperationContext within(Duration duration, Cancellation* cancellation) {
  OperationContext context;
  context.deadline = std::chrono::steady_clock::now() + duration;
  context.cancellation = cancellation;
  return context;
}

Command command(std::vector<std::string> argv) {
  Command out;
  out.argv = std::move(argv);
  return out;
}

OutputSink::Flow TestSink::write(Stream stream, std::string_view bytes) {
  ++writes;
  burst_ += bytes.size();
  largest_burst = std::max(largest_burst, burst_);
  (stream == Stream::kStderr ? errors : text).append(bytes);
  if (limit_bytes != 0 && text.size() >= limit_bytes) return Flow::kLimit;
  paused = pause_each;
  return pause_each ? Flow::kPause : Flow::kContinue;
}

void TestSink::resume() {
  burst_ = 0;
  paused = false;
  if (resume_) resume_();
}

InputSource::State TestSource::read(std::string& into, std::size_t bytes_max) {
  if (at_ == text_.size()) return State::kEnd;
  if (slow_ && !supplied_) return State::kAgain;
  supplied_ = false;
  const std::size_t size = std::min({bytes_max, piece_, text_.size() - at_});
  into.append(text_, at_, size);
  at_ += size;
  return State::kData;
}

void TestSource::supply() {
  supplied_ = true;
  if (ready_) ready_();
}

std::ostream& operator<<(std::ostream& out, const Footprint& footprint) {
  return out << footprint.descriptors << " descriptors, " << footprint.children << " children";
}

Footprint footprint() {
  Footprint out;
  out.descriptors = entries_of("/proc/self/fd");
  std::ifstream children("/proc/thread-self/children");
  std::string pid;
  while (children >> pid) ++out.children;
  return out;
}

}  // namespace berth::plugin
