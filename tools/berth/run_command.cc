// berth run: one program, whole. Its output is passed on while it runs; what is said about it comes
// after it, on standard error.
#include <string>
#include <utility>
#include <vector>

#include "core/execution/execution.h"
#include "tools/berth/commands.h"
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
  ExecutionRequest request =
      make_request(options, settings, std::move(*source), std::move(*files));
  const Status valid = validate(request);
  if (!valid) return failed(Exit::kInput, valid.error());
  return request;
}

}  // namespace

Task<int> run_program(Context& context, RunOptions options) {
  auto settings = read_settings(context);
  if (!settings) co_return report(context, settings.error());
  auto request = read_request(options, *settings);
  if (!request) co_return report(context, request.error());
  context.watch_signals();
  const std::string title = request->title;
  auto host = Host::open(context);
  if (!host) co_return report(context, host.error());

  RunObserver observer(context, options.quiet);
  auto result =
      co_await execute_on(**host, context, options.provider, std::move(*request), observer);
  co_await observer.finish();
  co_await (*host)->close();
  if (!result) co_return report(context, result.error());
  co_return report_run(context, options, title, *result, observer.output_failure());
}

}  // namespace berth::cli
