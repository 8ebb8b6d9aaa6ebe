#include "core/conformance/fuzz.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <filesystem>
#include <optional>

#include "core/base/ids.h"
#include "core/conformance/case_process.h"
#include "core/conformance/scratch.h"
#include "core/plugin/waiter.h"
#include "core/registry/inspect.h"

namespace berth::conformance {
namespace {

constexpr std::int64_t kSequenceBudgetMs = 60'000;

class Fuzzing {
 public:
  Fuzzing(boost::asio::any_io_executor executor, FuzzRequest request, Cancellation& cancellation)
      : executor_(std::move(executor)), request_(std::move(request)), cancellation_(cancellation) {}

  Task<Result<FuzzReport>> go() {
    BERTH_CO_TRY(scratch_, Scratch::make(request_.run.scratch));
    BERTH_CO_TRY(report_.refusal, co_await refusal());
    if (!report_.refusal.empty()) {
      scratch_->remove();
      co_return std::move(report_);
    }
    until_ = std::chrono::steady_clock::now() + request_.time;
    workers_ = request_.reproduce ? 1 : std::max(1u, request_.run.at_once);
    for (std::size_t i = workers_; i > 0; --i)
      boost::asio::co_spawn(executor_, work(), boost::asio::detached);
    while (workers_ > 0) co_await all_done_.wait();
    scratch_->remove();
    report_.interrupted = cancellation_.requested();
    if (!failure_.empty()) co_return fail(ErrorKind::kInternal, failure_);
    co_return std::move(report_);
  }

 private:
  bool over() const {
    return report_.seed || !failure_.empty() || cancellation_.requested() ||
           (request_.reproduce ? drawn_ > 0 : std::chrono::steady_clock::now() >= until_);
  }

  Task<void> work() {
    while (!over()) {
      const std::uint64_t seed = request_.reproduce.value_or(request_.run.seed + drawn_);
      ++drawn_;
      co_await one(seed);
      if (request_.on_progress) request_.on_progress(report_.sequences);
    }
    if (--workers_ == 0) all_done_.wake_later(executor_);
  }

  // What the loader says against the file, a sentence a line: no sequence could show anything then.
  Task<Result<std::string>> refusal() {
    const registry::Inspection inspection = registry::inspect(request_.run.file);
    digest_ = inspection.digest;
    std::string text;
    const auto add = [&text](const std::string& sentence) { text += (text.empty() ? "" : "\n") + sentence; };
    for (const std::string& sentence : refusals_of(request_.run, inspection)) add(sentence);
    if (!text.empty()) co_return text;
    CaseRequest request = request_of(kLoadTask, std::string(kLoadTask));
    BERTH_CO_TRY(const Told told, co_await run_process(executor_, request_.run.program, request, cancellation_));
    if (told.result == "ok" || cancellation_.requested()) co_return text;
    if (told.result == to_string(ErrorKind::kInternal)) co_return fail(ErrorKind::kInternal, told.text);
    for (const std::string& note : told.notes) add(note);
    if (text.empty()) add(told.result.empty() ? "its process did not live through loading it" : told.text);
    co_return text;
  }

  CaseRequest request_of(std::string_view task, const std::string& folder) const {
    CaseRequest request;
    request.task = task;
    request.file = request_.run.file;
    request.digest = digest_;
    request.config_json = request_.run.config_json;
    request.folder = scratch_->path() / folder;
    request.worker = request_.run.worker;
    request.owner_tag = fmt::format("kit-{}-{}", random_hex(6), folder);
    request.time_scale = request_.run.time_scale;
    request.budget_ms = static_cast<std::int64_t>(kSequenceBudgetMs * request_.run.time_scale);
    return request;
  }

  Task<void> one(std::uint64_t seed) {
    CaseRequest request = request_of(kFuzzTask, std::to_string(drawn_));
    request.seed = seed;
    Result<Told> asked = co_await run_process(executor_, request_.run.program, request, cancellation_);
    if (cancellation_.requested() || report_.seed) co_return;
    if (!asked) {
      failure_ = asked.error().message();
      co_return;
    }
    ++report_.sequences;
    Told& told = *asked;
    if (told.result == to_string(ErrorKind::kInternal)) failure_ = told.text;
    if (told.result != "ok") bad(seed, std::move(told));
    std::error_code ignored;
    std::filesystem::remove_all(request.folder, ignored);
  }

  void bad(std::uint64_t seed, Told told) {
    report_.seed = seed;
    report_.operations = std::move(told.notes);
    report_.text = !told.result.empty() ? told.text
                                        : fmt::format("its process ended by {} {} in {}", told.ended,
                                                      told.number, told.operation);
  }

  boost::asio::any_io_executor executor_;
  FuzzRequest request_;
  Cancellation& cancellation_;
  std::optional<Scratch> scratch_;
  std::string digest_;
  Instant until_{};
  std::uint64_t drawn_ = 0;
  std::size_t workers_ = 0;
  FuzzReport report_;
  std::string failure_;
  plugin::Waiter all_done_;
};

}  // namespace

Task<Result<FuzzReport>> fuzz_provider(boost::asio::any_io_executor executor, FuzzRequest request,
                                       Cancellation& cancellation) {
  Fuzzing fuzzing(executor, std::move(request), cancellation);
  co_return co_await fuzzing.go();
}

}  // namespace berth::conformance
