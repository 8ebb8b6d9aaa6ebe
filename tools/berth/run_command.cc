// berth run: one program, whole. Its output is passed on while it runs, or as event lines; what is
// said about it comes after it, on standard error.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/execution/execution.h"
#include "tools/berth/commands.h"
#include "tools/berth/event_lines.h"
#include "tools/berth/host.h"
#include "tools/berth/program_source.h"
#include "tools/berth/run_execution.h"
#include "tools/berth/run_observer.h"
#include "tools/berth/run_report.h"

namespace berth::cli {
namespace {

ExecutionRequest make_request(const RunOptions& options, const Settings& settings,
                              ProgramSource source, std::vector<RequestFile> files) {
  ExecutionRequest request = request_settings(options, settings);
  request.title = std::move(source.title);
  request.code = std::move(source.code);
  request.language = source.language;
  request.file_name = std::move(source.file_name);
  request.files = std::move(files);
  return request;
}

Tried<ExecutionRequest> read_request(const RunOptions& options, const Settings& settings) {
  auto source = read_program(options);
  if (!source) return failed(Exit::kInput, std::move(source).error());
  auto files = read_input_files(options.input_files);
  if (!files) return failed(Exit::kInput, std::move(files).error());
  ExecutionRequest request = make_request(options, settings, std::move(*source), std::move(*files));
  const Status valid = validate(request);
  if (!valid) return failed(Exit::kInput, valid.error());
  return request;
}

// Everything of a run but what its failure is told by.
class Run {
 public:
  Run(Context& context, RunOptions options) : context_(context), options_(std::move(options)) {}

  Task<Tried<int>> run() {
    auto settings = read_settings(context_);
    if (!settings) co_return tl::unexpected<Failure>(settings.error());
    auto request = read_request(options_, *settings);
    if (!request) co_return tl::unexpected<Failure>(request.error());
    if (!options_.stream.empty()) events_.emplace(event_subject(*request));
    const Status saving = check_output(options_);
    if (!saving) co_return failed(Exit::kOutput, saving.error());
    context_.watch_signals();
    const std::string title = request->title;
    auto host = Host::open(context_, keeping_of(options_, *settings, context_));
    if (!host) co_return tl::unexpected<Failure>(host.error());

    RunObserver observer(context_, options_.quiet, events_ ? &*events_ : nullptr);
    auto result = co_await execute_on(**host, context_, options_.provider, std::move(*request),
                                      observer);
    co_await observer.finish();
    co_await (*host)->close();
    if (!result) co_return tl::unexpected<Failure>(result.error());
    int exit = report_run(context_, options_, title, *result, observer.output_failure());
    if (!events_) co_return exit;
    std::string last = events_->finished(to_json(*result), exit);
    co_await observer.finish_with(std::move(last));
    if (const int failure = observer.output_failure()) exit = exit_of_output_failure(failure);
    co_return exit;
  }

  int report_failure(const Failure& failure) {
    const int exit = report(context_, failure);
    if (options_.stream.empty()) return exit;
    if (!events_) events_.emplace(boost::json::object());
    const Exit printed = context_.console.print(events_->failed(failure));
    return printed == Exit::kSuccess ? exit : to_int(printed);
  }

 private:
  Context& context_;
  RunOptions options_;
  std::optional<EventLines> events_;
};

}  // namespace

Task<int> run_program(Context& context, RunOptions options) {
  Run run(context, std::move(options));
  auto exit = co_await run.run();
  co_return exit ? *exit : run.report_failure(exit.error());
}

}  // namespace berth::cli
