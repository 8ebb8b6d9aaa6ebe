// RunObserver: what a person sees of a run while it happens.
//
// Passes output on byte for byte as it comes (nothing with --json), or as event lines, and shows on
// a terminal how far a slow start has come. Output that can no longer be written cancels the run.
#ifndef BERTH_TOOLS_BERTH_RUN_OBSERVER_H_
#define BERTH_TOOLS_BERTH_RUN_OBSERVER_H_

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/execution/execution.h"
#include "tools/berth/context.h"
#include "tools/berth/event_lines.h"
#include "tools/berth/live_output.h"

namespace berth::cli {

class RunObserver final : public ExecutionObserver {
 public:
  // With `events`, which must outlive it, standard output carries event lines and nothing else.
  RunObserver(Context& context, bool quiet, EventLines* events = nullptr);
  ~RunObserver() override;

  void on_started() override;
  void on_stage(std::string_view stage) override;
  Flow on_output(const OutputChunk& chunk) override;
  void on_resume(std::function<void()> resume) override;
  void on_chart(const Chart& chart) override;
  void on_result(const ResultValue& value) override;

  // Waits until everything is written; a signal ends the waiting.
  Task<void> finish();
  // Writes the last event line and waits for a reader that still reads, also after a signal.
  Task<void> finish_with(std::string last_line);

  // The errno of a failed write to standard output, or 0.
  int output_failure() const { return output_failure_; }

 private:
  void output_failed(int stream, int failure);
  void show_stage_later();
  void end_progress();

  enum class Progress { kOff, kWaiting, kOn };

  void emit(std::string_view lines);

  Context& context_;
  EventLines* events_;
  Progress progress_;
  int output_failure_ = 0;
  std::string stage_;
  boost::asio::steady_timer progress_timer_;
  std::optional<LiveOutput> live_;
  Cancellation::Subscription on_cancel_;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_RUN_OBSERVER_H_
