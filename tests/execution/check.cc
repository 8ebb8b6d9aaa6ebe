#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/base/json.h"
#include "tests/execution/case_file.h"

namespace berth::test {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += part + "\n";
  return out;
}

std::string or_none(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "none";
}

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string formats(const std::vector<Chart>& charts) {
  std::string out;
  for (const Chart& chart : charts) {
    if (!out.empty()) out += ' ';
    out += chart.format == Chart::Format::kPng ? "png" : "interactive";
  }
  return out.empty() ? "none" : out;
}

std::string interactive_chart(const ExecutionResult& result) {
  const Chart* chart = result.chart();
  if (chart == nullptr || chart->format != Chart::Format::kInteractive) return "none";
  return canonical_json(chart->data);
}

std::size_t smallest_picture(const ExecutionResult& result) {
  std::size_t least = 0;
  for (const Chart& chart : result.charts) {
    if (chart.format == Chart::Format::kPng && (least == 0 || chart.png.size() < least)) {
      least = chart.png.size();
    }
  }
  return least;
}

std::string sizes(const ExecutionResult& result) {
  std::string out;
  for (const Chart& chart : result.charts) {
    if (chart.format == Chart::Format::kPng) out += fmt::format("{}x{} ", chart.width, chart.height);
  }
  return out;
}

// The part of a result that an expectation speaks of, as text.
std::string subject(const std::string& what, const ExecutionResult& result) {
  if (what == "status") return std::string(to_string(result.status));
  if (what == "exit") return or_none(result.exit_code);
  if (what == "signal") return or_none(result.signal);
  if (what == "cause") return std::string(to_string(result.cause));
  if (what == "stdout") return result.stdout_text.text;
  if (what == "stderr") return result.stderr_text.text;
  if (what == "stdout-bytes") return std::to_string(result.stdout_text.bytes);
  if (what == "stdout-truncated") return yes_or_no(result.stdout_text.truncated);
  if (what == "stdout-omitted") return std::to_string(result.stdout_text.omitted_bytes);
  if (what == "message") return result.message;
  if (what == "notes") return result.notes.empty() ? "none" : join(result.notes);
  if (what == "result") return result.result ? result.result->text : "none";
  if (what == "json") {
    return result.result && result.result->json ? canonical_json(*result.result->json) : "none";
  }
  if (what == "charts") return formats(result.charts);
  if (what == "chart") return interactive_chart(result);
  if (what == "picture-sizes") return sizes(result);
  if (what == "pictures-painted") return yes_or_no(smallest_picture(result) > 3000);
  if (what == "error") return result.error ? result.error->name : "none";
  if (what == "error-value") return result.error ? result.error->value : "none";
  if (what == "traceback") return result.error ? result.error->traceback : "none";
  if (what == "failure") {
    return result.failure
               ? fmt::format("{}: {}", to_string(result.failure->kind), result.failure->message)
               : "none";
  }
  throw std::runtime_error("nothing is called '" + what + "'");
}

std::string shown(std::string text) {
  if (text.size() > 600) text = text.substr(0, 600) + "...";
  return text;
}

}  // namespace

std::vector<std::string> check(const Case& wanted, const ExecutionResult& result) {
  std::vector<std::string> faults;
  for (const Expectation& expectation : wanted.expectations) {
    const std::string actual = subject(expectation.what, result);
    const bool contains = actual.find(expectation.value) != std::string::npos;
    const bool holds = expectation.how == "has"     ? contains
                       : expectation.how == "lacks" ? !contains
                                                    : actual == expectation.value;
    if (holds) continue;
    faults.push_back(fmt::format("line {}: {} {} <{}>, but it is <{}>", expectation.line,
                                 expectation.what, expectation.how, expectation.value,
                                 shown(actual)));
  }
  if (!faults.empty()) faults.push_back(fmt::format("stderr was <{}>", shown(result.stderr_text.text)));
  // Nothing of the program's own is wrong then.
  if (!faults.empty() && result.failure)
    faults.push_back(fmt::format("it was not run to its end: {}", result.failure->message));
  return faults;
}

}  // namespace berth::test
