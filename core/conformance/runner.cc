#include "core/conformance/runner.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstring>
#include <memory>
#include <optional>

#include "core/base/ids.h"
#include "core/base/sha256.h"
#include "core/conformance/case_process.h"
#include "core/conformance/scratch.h"
#include "core/plugin/waiter.h"
#include "core/registry/inspect.h"
#include "core/registry/lifetime_step.h"

namespace berth::conformance {
namespace {

constexpr std::chrono::seconds kBudget{60};
constexpr std::chrono::seconds kCleanBudget{60};
// How often profile stress repeats what profile full does once, each time with other random choices.
constexpr int kStressRounds = 5;

std::string describe_host() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown";
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

// Different for every case and the same for every run with one seed.
std::uint64_t seed_of(std::uint64_t run, std::string_view id) {
  const std::string digest = sha256_hex(fmt::format("{} {}", run, id));
  return std::stoull(digest.substr(0, 16), nullptr, 16);
}

// What a case needs of time, on a machine as slow as the caller says.
std::int64_t budget_ms(const RunRequest& request, std::chrono::seconds budget) {
  const auto ms = std::chrono::milliseconds(budget).count();
  return static_cast<std::int64_t>(static_cast<double>(ms) * std::max(request.time_scale, 0.05));
}

CaseStatus status_of_end(const Told& told) {
  if (told.ended == "timeout") return CaseStatus::kTimeout;
  if (told.ended.empty()) return CaseStatus::kHarness;
  return CaseStatus::kCrash;
}

std::string where(const Told& told) {
  std::string text;
  if (!told.operation.empty()) text += fmt::format(" in {}", told.operation);
  if (!told.stage.empty()) text += fmt::format(" at stage \"{}\"", told.stage);
  return text;
}

std::string text_of_end(const Told& told) {
  if (told.ended == "timeout") return "it was still running when its time was over," + where(told);
  if (told.ended == "signal")
    return fmt::format("its process was ended by signal {} ({}){}", told.number,
                       ::strsignal(told.number), where(told));
  if (told.ended == "exit")
    return fmt::format("its process ended with code {}{}", told.number, where(told));
  return "its process was never heard of";
}

CaseStatus status_of_result(const std::string& result) {
  if (result == "ok") return CaseStatus::kPass;
  if (result == to_string(ErrorKind::kUnavailable)) return CaseStatus::kSkipEnvironment;
  if (result == to_string(ErrorKind::kLimit)) return CaseStatus::kWarn;
  if (result == to_string(ErrorKind::kInternal)) return CaseStatus::kHarness;
  return CaseStatus::kFail;
}

// The run as its coroutines share it. On one loop.
class Run {
 public:
  Run(boost::asio::any_io_executor executor, RunRequest request, Cancellation& cancellation)
      : executor_(std::move(executor)), request_(std::move(request)), cancellation_(cancellation) {}

  Task<Result<RunReport>> go();

 private:
  Task<void> work();
  Task<CaseResult> run_one(const Case& one);
  Task<CaseResult> run_once(const Case& one, int round);
  Task<void> clean(const CaseRequest& of, CaseResult& result);
  Task<Result<bool>> try_to_load();
  void refuse(const std::vector<std::string>& sentences);
  CaseRequest request_of(std::string task, std::string_view id) const;

  boost::asio::any_io_executor executor_;
  RunRequest request_;
  Cancellation& cancellation_;
  registry::Inspection inspection_;
  RunReport report_;
  std::optional<Scratch> scratch_;
  std::string nonce_ = random_hex(6);
  std::vector<const Case*> cases_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  std::size_t workers_ = 0;
  plugin::Waiter all_done_;
};

}  // namespace

std::vector<const Case*> chosen(const RunRequest& request) {
  std::vector<const Case*> out;
  const auto fits = [](const Case& one, const std::vector<std::string>& globs) {
    return std::any_of(globs.begin(), globs.end(),
                       [&](const std::string& glob) { return matches(one, glob); });
  };
  for (const Case& one : all_cases()) {
    if (one.profile > request.profile) continue;
    if (!request.only.empty() && !fits(one, request.only)) continue;
    if (fits(one, request.skip)) continue;
    out.push_back(&one);
  }
  return out;
}

std::vector<std::string> refusals_of(const RunRequest& request, const registry::Inspection& inspection) {
  std::vector<std::string> out;
  const auto add = [&out](const registry::Findings& findings) {
    for (const registry::Finding& finding : findings)
      if (finding.severity == registry::Severity::kRefusal) out.push_back(registry::to_sentence(finding));
  };
  add(inspection.findings);
  add(request.host_findings);
  return out;
}

CaseRequest request_for(const RunRequest& request, const Case& one, const std::filesystem::path& scratch) {
  CaseRequest out;
  out.task = one.id;
  out.file = request.file;
  out.digest = registry::inspect(request.file).digest;
  out.config_json = request.config_json;
  out.folder = scratch / one.id;
  out.worker = request.worker;
  out.owner_tag = fmt::format("kit-{}-{}", random_hex(6), one.id);
  out.seed = seed_of(request.seed, one.id);
  out.time_scale = request.time_scale;
  return out;
}

Task<Result<RunReport>> run_cases(boost::asio::any_io_executor executor, RunRequest request,
                                  Cancellation& cancellation) {
  Run run(executor, std::move(request), cancellation);
  co_return co_await run.go();
}

namespace {

CaseRequest Run::request_of(std::string task, std::string_view id) const {
  CaseRequest out;
  out.task = std::move(task);
  out.file = request_.file;
  out.digest = inspection_.digest;
  out.config_json = request_.config_json;
  out.folder = scratch_->path() / id;
  out.worker = request_.worker;
  out.owner_tag = fmt::format("kit-{}-{}", nonce_, id);
  out.seed = seed_of(request_.seed, id);
  out.time_scale = request_.time_scale;
  out.budget_ms = budget_ms(request_, kBudget);
  // A lifetime lasts as long as it lasts, however fast the machine is.
  if (inspection_.manifest) out.budget_ms += std::chrono::milliseconds(registry::lifetime_step(*inspection_.manifest)).count();
  return out;
}

Task<Result<RunReport>> Run::go() {
  inspection_ = registry::inspect(request_.file);
  report_.file = request_.file.string();
  report_.digest = inspection_.digest;
  report_.host = describe_host();
  report_.profile = to_string(request_.profile);
  report_.seed = request_.seed;
  report_.whole = request_.only.empty() && request_.skip.empty();
  report_.started = std::chrono::time_point_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now());
  const auto started = std::chrono::steady_clock::now();
  if (inspection_.manifest) {
    report_.provider = inspection_.manifest->id;
    report_.version = inspection_.manifest->version;
    for (const auto& claim : inspection_.manifest->capabilities)
      report_.capabilities += (report_.capabilities.empty() ? "" : " ") + claim.id;
  }
  cases_ = chosen(request_);
  BERTH_CO_TRY(scratch_, Scratch::make(request_.scratch));
  BERTH_CO_TRY(const bool loads, co_await try_to_load());
  if (loads) {
    report_.cases.resize(cases_.size());
    workers_ = std::max(1u, request_.at_once);
    for (std::size_t i = workers_; i > 0; --i)
      boost::asio::co_spawn(executor_, work(), boost::asio::detached);
    while (workers_ > 0) co_await all_done_.wait();
    std::erase_if(report_.cases, [](const CaseResult& one) { return one.id.empty(); });
    attribute_violations(report_);
    for (CaseResult& one : report_.cases)
      if (is_bad(one.status) && one.status != CaseStatus::kHarness &&
          std::find(request_.allow.begin(), request_.allow.end(), one.id) != request_.allow.end())
        one.status = CaseStatus::kKnownDeviation;
  }
  report_.interrupted = cancellation_.requested();
  report_.took = std::chrono::steady_clock::now() - started;
  scratch_->remove();
  co_return std::move(report_);
}

// What the loader says decides about its own clauses, and about whether anything else is tried.
Task<Result<bool>> Run::try_to_load() {
  const std::vector<std::string> refusals = refusals_of(request_, inspection_);
  if (!refusals.empty() || !inspection_.manifest) {
    refuse(refusals);
    co_return false;
  }
  CaseRequest request = request_of(std::string(kLoadTask), kLoadTask);
  BERTH_CO_TRY(Told told, co_await run_process(executor_, request_.program, request, cancellation_));
  std::error_code ignored;
  std::filesystem::remove_all(request.folder, ignored);
  if (told.result == "ok") co_return true;
  if (told.result == to_string(ErrorKind::kInternal))
    co_return fail(ErrorKind::kInternal, told.text);
  if (cancellation_.requested()) co_return false;
  if (!told.result.empty()) {
    refuse(told.notes.empty() ? std::vector<std::string>{told.text} : told.notes);
  } else if (told.ended.empty()) {
    co_return fail(ErrorKind::kInternal, "the process that loads the provider was never heard of");
  } else {
    const bool library = told.operation == "loading the library";
    refuse({fmt::format("[{}] {}; found {}", library ? "LOAD-006" : "LOAD-005",
                        "loading and the entry have no effects", text_of_end(told))});
  }
  co_return false;
}

void Run::refuse(const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) {
    if (!report_.refusal.empty()) report_.refusal += "\n";
    report_.refusal += sentence;
    if (!sentence.starts_with("[") || sentence.find(']') == std::string::npos) continue;
    const std::string clause = sentence.substr(1, sentence.find(']') - 1);
    for (const Case* one : cases_) {
      if (one->id != clause) continue;
      CaseResult result;
      result.id = one->id;
      result.clause = one->clause;
      result.status = CaseStatus::kFail;
      result.text = sentence;
      report_.cases.push_back(std::move(result));
    }
  }
}

Task<void> Run::work() {
  while (next_ < cases_.size() && !cancellation_.requested()) {
    const std::size_t mine = next_++;
    CaseResult result = co_await run_one(*cases_[mine]);
    // What an interruption ended has shown nothing about the provider.
    if (cancellation_.requested()) break;
    report_.cases[mine] = std::move(result);
    ++done_;
    if (request_.on_result) request_.on_result(report_.cases[mine], done_, cases_.size());
  }
  if (--workers_ == 0) all_done_.wake_later(executor_);
}

Task<CaseResult> Run::run_one(const Case& one) {
  CaseResult result;
  result.id = one.id;
  result.clause = one.clause;
  if (!applies(one, *inspection_.manifest)) {
    result.status = CaseStatus::kSkipUndeclared;
    result.text = fmt::format("it does not claim {}", one.capability);
    co_return result;
  }
  const int rounds = request_.profile == Profile::kStress ? kStressRounds : 1;
  for (int round = 0; round < rounds; ++round) {
    result = co_await run_once(one, round);
    if (result.status != CaseStatus::kPass || !result.violations.empty() || cancellation_.requested()) break;
  }
  co_return result;
}

Task<CaseResult> Run::run_once(const Case& one, int round) {
  CaseResult result;
  result.id = one.id;
  result.clause = one.clause;
  const auto started = std::chrono::steady_clock::now();
  CaseRequest request = request_of(std::string(one.id), fmt::format("{}.{}", one.id, round));
  Result<Told> asked = co_await run_process(executor_, request_.program, request, cancellation_);
  result.took = std::chrono::steady_clock::now() - started;
  if (!asked) {
    result.text = asked.error().message();
    co_return result;
  }
  Told& told = *asked;
  result.operation = told.operation;
  result.stage = told.stage;
  result.notes = std::move(told.notes);
  result.violations = std::move(told.violations);
  result.printed = std::move(told.printed);
  const bool spoke = !told.result.empty();
  result.status = spoke ? status_of_result(told.result) : status_of_end(told);
  result.text = spoke ? told.text : text_of_end(told);
  // A process that ended after its result has said what counts.
  if (!spoke || !told.left.empty()) co_await clean(request, result);
  if (spoke && result.status == CaseStatus::kPass && !told.left.empty()) {
    result.status = CaseStatus::kLeak;
    result.text = fmt::format("sandbox {} could not be destroyed after the case", told.left.front());
  }
  for (const std::string& name : told.stragglers)
    result.violations.push_back({"LEAK-001", fmt::format("a process {} was still there after "
                                                         "shutdown", name)});
  // So that what a killed run leaves is what it had under way.
  std::error_code ignored;
  std::filesystem::remove_all(request.folder, ignored);
  co_return result;
}

// A fresh process destroys by name what this one may have left.
Task<void> Run::clean(const CaseRequest& of, CaseResult& result) {
  CaseRequest request = of;
  request.task = kCleanTask;
  request.budget_ms = budget_ms(request_, kCleanBudget);
  // Also after an interruption: what exists is never left to chance.
  Cancellation never;
  Result<Told> asked = co_await run_process(executor_, request_.program, request, never);
  if (!asked) {
    result.notes.push_back("cleaning: " + asked.error().message());
    co_return;
  }
  for (const std::string& note : asked->notes) result.notes.push_back("cleaning: " + note);
  if (asked->result != "ok")
    result.notes.push_back(
        "cleaning: " + (asked->result.empty() ? text_of_end(*asked) : asked->text));
}

}  // namespace

}  // namespace berth::conformance
