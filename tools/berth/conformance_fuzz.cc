// berth conformance fuzz: random sequences of operations against a model.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdlib>
#include <string>

#include "core/conformance/fuzz.h"
#include "tools/berth/commands.h"
#include "tools/berth/conformance_request.h"
#include "tools/berth/values.h"

namespace berth::cli {
namespace {

using conformance::FuzzReport;

boost::json::object to_json(const FuzzReport& report) {
  boost::json::array operations;
  for (const std::string& one : report.operations) operations.emplace_back(one);
  boost::json::object out{{"sequences", report.sequences}, {"good", !report.seed && report.refusal.empty()}};
  if (!report.refusal.empty()) out["refusal"] = report.refusal;
  if (report.seed) {
    out["seed"] = std::to_string(*report.seed);
    out["text"] = report.text;
    out["operations"] = std::move(operations);
  }
  return out;
}

std::string describe(const FuzzReport& report, const std::string& file) {
  if (!report.refusal.empty())
    return fmt::format("the loader refuses it, so no sequence was run:\n{}\n", printable(report.refusal));
  if (!report.seed)
    return fmt::format("{} sequences of {} operations, and no contradiction\n", report.sequences,
                       conformance::kFuzzOperations);
  std::string text = fmt::format("sequence {} contradicts the model: {}\n", *report.seed,
                                 printable(report.text));
  for (const std::string& one : report.operations) text += fmt::format("    {}\n", printable(one));
  return text + fmt::format("\nagain: berth conformance fuzz {} --reproduce {}\n", file, *report.seed);
}

}  // namespace

Task<int> fuzz_conformance(Context& context, ConformanceFuzzOptions options) {
  ConformanceRunOptions as_run;
  as_run.file = options.file;
  as_run.at_once = options.at_once;
  as_run.seed = options.seed;
  as_run.time_scale = options.time_scale;
  auto run = conformance_request(context, as_run);
  if (!run) co_return report(context, run.error(), kConformanceUsage);
  conformance::FuzzRequest request;
  request.run = std::move(*run);
  request.time = options.time;
  if (!options.reproduce.empty()) {
    const auto seed = parse_seed("--reproduce", options.reproduce);
    if (!seed) co_return report(context, seed.error(), kConformanceUsage);
    request.reproduce = *seed;
  }
  request.on_progress = [&context](std::uint64_t sequences) {
    context.console.progress(fmt::format("{} sequences", sequences));
  };
  co_await sweep(context, request.run);
  auto fuzzed = co_await conformance::fuzz_provider(context.executor, std::move(request),
                                                    context.cancellation);
  context.console.clear_progress();
  if (!fuzzed) co_return report(context, fuzzed.error(), kConformanceHarness);
  const Exit printed = context.common.json ? print_json(context.console, to_json(*fuzzed))
                                           : context.console.print(describe(*fuzzed, options.file));
  if (printed != Exit::kSuccess) co_return to_int(printed);
  if (fuzzed->interrupted) co_return exit_of_signal(context.interrupted_by);
  if (!fuzzed->refusal.empty()) co_return kConformanceRefused;
  if (fuzzed->seed) co_return kConformanceBad;
  co_return fuzzed->sequences > 0 ? kConformanceGood : kConformanceUsage;
}

}  // namespace berth::cli
