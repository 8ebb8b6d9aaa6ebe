#include "tools/berth/run_observer.h"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <utility>

namespace berth::cli {
namespace {

constexpr int kStdoutFd = 1;
constexpr int kStderrFd = 2;
// A start that is quicker than this says nothing.
constexpr std::chrono::milliseconds kPatience{1200};

}  // namespace

RunObserver::RunObserver(Context& context, bool quiet, EventLines* events)
    : context_(context),
      events_(events),
      progress_(quiet || !context.console.err_is_terminal() ? Progress::kOff : Progress::kWaiting),
      progress_timer_(context.executor) {
  if (!context_.common.json || events_ != nullptr) {
    live_.emplace(context_.executor,
                  [this](int stream, int failure) { output_failed(stream, failure); });
  }
  if (progress_ == Progress::kWaiting) show_stage_later();
}

RunObserver::~RunObserver() { progress_timer_.cancel(); }

void RunObserver::show_stage_later() {
  progress_timer_.expires_after(kPatience);
  progress_timer_.async_wait([this](boost::system::error_code error) {
    if (error || progress_ == Progress::kOff) return;
    progress_ = Progress::kOn;
    on_stage(std::string(stage_));
  });
}

void RunObserver::emit(std::string_view lines) {
  end_progress();
  live_->write(kStdoutFd, lines);
}

void RunObserver::on_started() {
  if (events_ != nullptr) emit(events_->started());
}

void RunObserver::on_chart(const Chart& chart) {
  if (events_ != nullptr) emit(events_->chart(chart));
}

void RunObserver::on_result(const ResultValue& value) {
  if (events_ != nullptr) emit(events_->result(value));
}

void RunObserver::on_stage(std::string_view stage) {
  if (events_ != nullptr) return emit(events_->stage(stage));
  stage_ = stage;
  // Now it is the program's turn to say something.
  if (stage_ == "run") return context_.console.clear_progress();
  if (progress_ == Progress::kOn && !stage_.empty()) {
    context_.console.progress(fmt::format("berth: {} ...", stage_));
  }
}

void RunObserver::end_progress() {
  progress_ = Progress::kOff;
  progress_timer_.cancel();
  context_.console.clear_progress();
}

ExecutionObserver::Flow RunObserver::on_output(const OutputChunk& chunk) {
  if (!live_) return Flow::kContinue;
  end_progress();
  if (events_ != nullptr) {
    return live_->write(kStdoutFd, events_->output(chunk)) ? Flow::kContinue : Flow::kPause;
  }
  const bool more = live_->write(chunk.stream == Stream::kStderr ? kStderrFd : kStdoutFd, chunk.raw);
  return more ? Flow::kContinue : Flow::kPause;
}

void RunObserver::on_resume(std::function<void()> resume) {
  if (live_) live_->on_resume(std::move(resume));
}

Task<void> RunObserver::finish() {
  end_progress();
  if (!live_ || events_ != nullptr) co_return;
  // A reader that has stopped reading for good would keep us for ever.
  on_cancel_ = context_.cancellation.subscribe([this] { live_->give_up(); });
  co_await live_->drained();
  on_cancel_.reset();
}

Task<void> RunObserver::finish_with(std::string last_line) {
  emit(last_line);
  std::function<bool()> hurried = [this] { return context_.cancellation.requested(); };
  co_await live_->drained_while_read(std::move(hurried));
}

void RunObserver::output_failed(int stream, int failure) {
  // Nobody is told of a broken standard error, and the program's work is still worth finishing.
  if (stream == kStderrFd || output_failure_ != 0) return;
  output_failure_ = failure;
  if (failure != EPIPE) {
    context_.console.error(fmt::format("cannot write to standard output: {}; cancelling",
                                       std::generic_category().message(failure)));
  }
  context_.cancellation.request(Cancellation::Reason::kCaller);
}

}  // namespace berth::cli
