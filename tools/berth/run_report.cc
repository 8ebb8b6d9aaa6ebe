#include "tools/berth/run_report.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "tools/berth/chart_files.h"
#include "tools/berth/desktop.h"

namespace berth::cli {
namespace {

// What a limit does to a program: SIGKILL.
constexpr int kLimitExit = 128 + SIGKILL;

int exit_code_of(const ExecutionFailure& failure, int interrupted_by) {
  switch (failure.kind) {
    case ExecutionFailure::Kind::kInvalidRequest: return to_int(Exit::kInput);
    case ExecutionFailure::Kind::kRefused: return to_int(Exit::kRefused);
    case ExecutionFailure::Kind::kUncertain: return to_int(Exit::kUncertain);
    case ExecutionFailure::Kind::kDeadline: return to_int(Exit::kDeadline);
    case ExecutionFailure::Kind::kInfrastructure: return to_int(Exit::kInfrastructure);
    case ExecutionFailure::Kind::kCancelled:
      return interrupted_by == 0 ? to_int(Exit::kInterrupted) : exit_of_signal(interrupted_by);
  }
  return to_int(Exit::kInternal);
}

// A sentence about an end that the exit code does not tell; empty for an ordinary one.
std::string describe_end(const ExecutionResult& result, const RunOptions& options) {
  switch (result.cause) {
    case Cause::kUnknown:
    case Cause::kExited:
    case Cause::kCancelled: return {};
    case Cause::kSignalled:
      return fmt::format("the program was ended by signal {} (SIG{})", result.signal.value_or(0),
                         sigabbrev_np(result.signal.value_or(0)) == nullptr
                             ? "?"
                             : sigabbrev_np(result.signal.value_or(0)));
    case Cause::kOom: return "the program was ended: it reached its memory limit";
    case Cause::kWall:
      return options.timeout ? fmt::format("the program was ended: its time limit of {} passed",
                                           to_human(*options.timeout))
                             : "the program was ended: its time limit passed";
    case Cause::kCpu: return "the program was ended: it used up its CPU time";
    case Cause::kOutput: return "the program was ended: it would not stop writing";
    case Cause::kDisk: return "the program was ended: it reached its disk limit";
    case Cause::kLost: return "how the program ended was not seen";
  }
  return {};
}

std::string describe_cost(const ExecutionResult& result) {
  if (result.replayed) return "recorded answer, no charge";
  if (!result.receipt) return "no charge";
  if (!result.receipt->cost) return "cost unknown until reconciled";
  return result.receipt->cost->micros() == 0 ? "no charge"
                                             : "cost " + result.receipt->cost->to_string();
}

Duration total_time(const ExecutionResult& result) {
  const std::int64_t microseconds =
      std::accumulate(result.timings_us.begin(), result.timings_us.end(), std::int64_t{0},
                      [](std::int64_t sum, const auto& phase) { return sum + phase.second; });
  return std::chrono::microseconds(microseconds);
}

// What was saved, or the failure that kept it from being saved.
struct Saving {
  std::vector<SavedChart> charts;
  std::optional<Error> error;
  std::optional<Error> without_page;  // why a dictionary was saved as JSON only
};

Saving save(const Context& context, const RunOptions& options, const std::string& title,
            const ExecutionResult& result) {
  Saving saving;
  // Otherwise they are in what is printed.
  const bool printed = context.common.json || !options.stream.empty();
  if (printed && options.output.empty() && !options.open) return saving;
  const bool interactive =
      result.chart() != nullptr && result.chart()->format == Chart::Format::kInteractive;
  std::optional<ChartPage> page;
  if (interactive) {
    auto loaded = ChartPage::load();
    if (loaded) page = std::move(*loaded);
    else saving.without_page = loaded.error();
  }
  auto saved = save_charts(result.charts, options.output, title,
                           options.replace ? Existing::kReplace : Existing::kKeep,
                           page ? &*page : nullptr);
  if (saved) {
    saving.charts = std::move(*saved);
  } else {
    saving.error = std::move(saved).error();
  }
  return saving;
}

void say_saved(Console& console, const Saving& saving) {
  for (const SavedChart& chart : saving.charts) {
    const char* what = chart.already_there ? "already there: " : chart.replaced ? "replaced " : "saved ";
    console.note(fmt::format("{}{}", what, chart.path.string()));
  }
}

// The preferred chart: the page that draws it, or the picture.
void show_first(const Context& context, const Saving& saving) {
  for (const SavedChart& chart : saving.charts) {
    if (chart.path.extension() == ".json") continue;
    const Status shown = show_on_desktop(chart.path, context.environment);
    if (!shown) context.console.error(shown.error().message());
    return;
  }
  if (!saving.error) context.console.note("--open: there is no chart to show");
}

// How to get charts that could not be saved: the recorded answer has them.
std::string ask_again(const ExecutionResult& result) {
  if (!result.receipt) return {};
  return fmt::format("; they are kept: run the same program again with --session '{}' --call '{}' "
                     "and --output DIR, free of charge",
                     result.receipt->session, result.receipt->call);
}

void say_end(const Context& context, const RunOptions& options, const ExecutionResult& result,
             const Saving& saving) {
  Console& console = context.console;
  if (result.failure) {
    console.error(result.failure->message);
  } else if (const std::string end = describe_end(result, options); !end.empty()) {
    console.note(end);
  }
  if (saving.error) console.error(saving.error->message() + ask_again(result));
  if (options.quiet) return;
  for (const std::string& note : result.notes) console.note(note);
  if (saving.without_page) {
    console.note("a chart is saved as data only: " + saving.without_page->message());
  }
  say_saved(console, saving);
  if (result.replayed || console.err_is_terminal()) {
    console.note(fmt::format("{}, {}", to_human(total_time(result)), describe_cost(result)));
  }
}

}  // namespace

int exit_code_of(const ExecutionResult& result, int interrupted_by) {
  if (result.failure) return exit_code_of(*result.failure, interrupted_by);
  if (result.exit_code) return *result.exit_code;
  if (result.signal) return exit_of_signal(*result.signal);
  switch (result.cause) {
    case Cause::kOom:
    case Cause::kWall:
    case Cause::kCpu:
    case Cause::kOutput:
    case Cause::kDisk: return kLimitExit;
    case Cause::kUnknown:
    case Cause::kExited:
    case Cause::kSignalled:
    case Cause::kCancelled:
    case Cause::kLost: break;
  }
  return to_int(Exit::kInfrastructure);
}

int exit_of_output_failure(int failure) {
  return to_int(failure == EPIPE ? Exit::kReaderGone : Exit::kOutput);
}

Status check_output(const RunOptions& options) {
  if (options.output.empty()) return {};
  Status can = check_chart_folder(options.output);
  if (can) return can;
  return fail(can.error().with("--output"));
}

int report_run(const Context& context, const RunOptions& options, const std::string& title,
               const ExecutionResult& result, int output_failure,
               const boost::json::object& more) {
  const Saving saving = save(context, options, title, result);
  if (output_failure != EPIPE) say_end(context, options, result, saving);
  if (options.open) show_first(context, saving);
  int exit = exit_code_of(result, context.interrupted_by);
  if (output_failure != 0) exit = exit_of_output_failure(output_failure);
  if (saving.error) exit = to_int(Exit::kOutput);
  if (context.common.json) {
    boost::json::object document = to_json(result);
    for (const auto& member : more) document.insert(member);
    const Exit printed = print_json(context.console, document);
    if (printed != Exit::kSuccess) return to_int(printed);
  }
  return exit;
}

}  // namespace berth::cli
