#include "core/conformance/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "core/base/json.h"

namespace berth::conformance {
namespace {

namespace json = boost::json;

struct StatusWord {
  CaseStatus status;
  std::string_view word;
};
constexpr std::array kStatusWords = {
    StatusWord{CaseStatus::kPass, "pass"},
    StatusWord{CaseStatus::kFail, "fail"},
    StatusWord{CaseStatus::kCrash, "crash"},
    StatusWord{CaseStatus::kTimeout, "timeout"},
    StatusWord{CaseStatus::kLeak, "leak"},
    StatusWord{CaseStatus::kSkipUndeclared, "skip-undeclared"},
    StatusWord{CaseStatus::kSkipEnvironment, "skip-environment"},
    StatusWord{CaseStatus::kKnownDeviation, "known-deviation"},
    StatusWord{CaseStatus::kWarn, "warn"},
    StatusWord{CaseStatus::kHarness, "harness"}};

CaseResult* keeper_of(RunReport& report, const std::string& clause) {
  for (CaseResult& one : report.cases)
    if (one.id == clause && !is_skip(one.status)) return &one;
  return nullptr;
}

void hold_against(CaseResult& result, const std::string& text) {
  if (result.status == CaseStatus::kPass || result.status == CaseStatus::kWarn) {
    result.status = CaseStatus::kFail;
    result.text = text;
  } else if (result.notes.size() < 64) {
    result.notes.push_back(text);
  }
}

json::object to_json(const CaseResult& one) {
  json::object out{{"id", one.id},
                   {"clause", one.clause},
                   {"status", to_string(one.status)},
                   {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(one.took).count()}};
  if (!one.text.empty()) out["text"] = one.text;
  if (!one.operation.empty()) out["operation"] = one.operation;
  if (!one.stage.empty()) out["stage"] = one.stage;
  if (!one.printed.empty()) out["printed"] = one.printed;
  if (!one.notes.empty()) {
    json::array notes;
    for (const std::string& note : one.notes) notes.emplace_back(note);
    out["notes"] = std::move(notes);
  }
  return out;
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string text_or_empty(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace

std::string escaped_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        // XML 1.0 has no other control characters, escaped or not.
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
        else out += '?';
    }
  }
  return out;
}

std::string_view to_string(CaseStatus status) {
  for (const StatusWord& one : kStatusWords)
    if (one.status == status) return one.word;
  return "harness";
}

Result<CaseStatus> parse_case_status(std::string_view text) {
  for (const StatusWord& one : kStatusWords)
    if (one.word == text) return one.status;
  return fail(ErrorKind::kCorrupt, fmt::format("\"{}\" is no status of a case", text));
}

bool is_bad(CaseStatus status) {
  return status == CaseStatus::kFail || status == CaseStatus::kCrash ||
         status == CaseStatus::kTimeout || status == CaseStatus::kLeak ||
         status == CaseStatus::kHarness;
}

bool is_skip(CaseStatus status) {
  return status == CaseStatus::kSkipUndeclared || status == CaseStatus::kSkipEnvironment ||
         status == CaseStatus::kKnownDeviation;
}

std::size_t RunReport::passed() const {
  return cases.size() - failed() - skipped();
}
std::size_t RunReport::failed() const {
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [](const CaseResult& one) { return is_bad(one.status); }));
}
std::size_t RunReport::skipped() const {
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [](const CaseResult& one) { return is_skip(one.status); }));
}

std::string RunReport::tally() const {
  return fmt::format("{} passed, {} failed, {} skipped", passed(), failed(), skipped());
}

int RunReport::exit_code() const {
  const auto harness = [](const CaseResult& one) { return one.status == CaseStatus::kHarness; };
  if (interrupted || std::any_of(cases.begin(), cases.end(), harness)) return 4;
  if (!refusal.empty()) return 3;
  if (failed() > 0) return 1;
  return passed() > 0 ? 0 : 2;
}

void attribute_violations(RunReport& report) {
  for (CaseResult& one : report.cases) {
    for (const plugin::Violation& breach : one.violations) {
      const Case* known = find_case(breach.clause);
      if (known != nullptr && to_string(known->profile) == "full" && report.profile == "smoke") {
        one.notes.push_back(fmt::format("[{}] {} (profile full counts it)", breach.clause, breach.text));
        continue;
      }
      CaseResult* keeper = keeper_of(report, breach.clause);
      const std::string text = fmt::format("[{}] {}", breach.clause, breach.text);
      if (keeper == nullptr || keeper == &one) hold_against(one, text);
      else hold_against(*keeper, fmt::format("seen while {} ran: {}", one.id, text));
    }
  }
}

json::value to_json(const RunReport& report) {
  json::array cases;
  for (const CaseResult& one : report.cases) cases.push_back(to_json(one));
  json::object scope;
  for (const auto& [field, value] : report.scope) scope[field] = value;
  json::object out{{"format", 1},
                   {"provider", report.provider},
                   {"version", report.version},
                   {"digest", report.digest},
                   {"file", report.file},
                   {"capabilities", report.capabilities},
                   {"scope", std::move(scope)},
                   {"host", report.host},
                   {"profile", report.profile},
                   {"seed", std::to_string(report.seed)},
                   {"started", to_rfc3339(report.started)},
                   {"seconds", seconds(report.took)},
                   {"whole", report.whole && !report.interrupted},
                   {"interrupted", report.interrupted},
                   {"passed", report.passed()},
                   {"failed", report.failed()},
                   {"skipped", report.skipped()},
                   {"exit", report.exit_code()},
                   {"cases", std::move(cases)}};
  if (!report.refusal.empty()) out["refusal"] = report.refusal;
  return out;
}

Result<RunReport> parse_report(std::string_view text) {
  JsonBounds bounds;
  bounds.bytes_max = std::size_t{16} << 20;
  BERTH_TRY(const json::value document, parse_json(text, bounds));
  const auto* object = document.if_object();
  if (object == nullptr) return fail(ErrorKind::kCorrupt, "the report is no JSON object");
  BERTH_TRY(const std::int64_t format, json_int(*object, "format", "report"));
  if (format != 1) return fail(ErrorKind::kCorrupt, fmt::format("report format {} is not 1", format));
  RunReport out;
  BERTH_TRY(out.provider, json_string(*object, "provider", "report"));
  BERTH_TRY(out.version, json_string(*object, "version", "report"));
  BERTH_TRY(out.digest, json_string(*object, "digest", "report"));
  BERTH_TRY(out.profile, json_string(*object, "profile", "report"));
  BERTH_TRY(out.whole, json_bool(*object, "whole", "report"));
  out.capabilities = text_or_empty(*object, "capabilities");
  out.refusal = text_or_empty(*object, "refusal");
  BERTH_TRY(const json::array* cases, json_array(*object, "cases", "report"));
  for (const json::value& value : *cases) {
    const auto* one = value.if_object();
    if (one == nullptr) return fail(ErrorKind::kCorrupt, "report.cases has what is no object");
    CaseResult result;
    BERTH_TRY(result.id, json_string(*one, "id", "report.cases"));
    BERTH_TRY(result.clause, json_string(*one, "clause", "report.cases"));
    BERTH_TRY(const std::string status, json_string(*one, "status", "report.cases"));
    BERTH_TRY(result.status, parse_case_status(status));
    result.text = text_or_empty(*one, "text");
    out.cases.push_back(std::move(result));
  }
  return out;
}

std::string to_junit(const RunReport& report) {
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"conformance of {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n",
      escaped_markup(report.provider), report.cases.size(), report.failed(), report.skipped(),
      seconds(report.took));
  for (const CaseResult& one : report.cases) {
    out += fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">",
                       escaped_markup(one.clause), escaped_markup(one.id), seconds(one.took));
    if (is_bad(one.status))
      out += fmt::format("<failure type=\"{}\">{}</failure>", to_string(one.status),
                         escaped_markup(one.text));
    if (is_skip(one.status))
      out += fmt::format("<skipped message=\"{}: {}\"/>", to_string(one.status), escaped_markup(one.text));
    out += "</testcase>\n";
  }
  return out + "</testsuite>\n";
}

}  // namespace berth::conformance
