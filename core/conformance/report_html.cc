// A report as one page: no script, nothing loaded from anywhere, light and dark.
#include <fmt/format.h>

#include <array>

#include "core/conformance/results.h"
#include "core/registry/clauses.h"

namespace berth::conformance {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5d6778; --line: #dce1e8; --ground: #fff; --card: #f6f8fa;
  --good: #1a7f4b; --bad: #c0322b; --skip: #8a6d1d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa5b5; --line: #333b47; --ground: #14181e;
  --card: #1c222a; --good: #4cc38a; --bad: #ff7b72; --skip: #d9b44a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2.5rem 1.25rem 4rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.05rem; margin: 2.25rem 0 .5rem; }
.soft, dt { color: var(--soft); } code, .id { font-family: ui-monospace, monospace; font-size: .88em; }
.verdict { font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); } .skip { color: var(--skip); }
.bar { display: flex; height: .6rem; gap: 2px; margin: 1rem 0; border-radius: .3rem; overflow: hidden; }
.bar span { min-width: 2px; } .bar .good { background: var(--good); } .bar .bad { background: var(--bad); }
.bar .skip { background: var(--skip); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.25rem; margin: 1rem 0; }
dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } td { border-top: 1px solid var(--line); padding: .45rem .6rem .45rem 0;
  vertical-align: top; } td.id, td.time { white-space: nowrap; } td.time { text-align: right; color: var(--soft); }
.why { background: var(--card); border-left: 3px solid var(--line); margin: .5rem 0 .25rem; padding: .6rem .8rem;
  overflow-wrap: anywhere; white-space: pre-wrap; } .why.bad { border-color: var(--bad); color: inherit; }
details summary { cursor: pointer; color: var(--soft); }
)";

std::string_view class_of(CaseStatus status) {
  if (is_bad(status)) return "bad";
  return status == CaseStatus::kPass ? "good" : "skip";
}

std::string verdict_of(const RunReport& report) {
  switch (report.exit_code()) {
    case 0: return "<span class=\"good\">Keeps the contract, as far as these cases see</span>";
    case 1: return "<span class=\"bad\">Breaks the contract</span>";
    case 2: return "<span class=\"skip\">Nothing was tested</span>";
    case 3: return "<span class=\"bad\">The loader refuses it</span>";
    default: return "<span class=\"skip\">The kit itself failed: this says nothing of the provider</span>";
  }
}

std::string bar_of(const RunReport& report) {
  const std::array<std::pair<std::string_view, std::size_t>, 3> parts{
      {{"good", report.passed()}, {"bad", report.failed()}, {"skip", report.skipped()}}};
  std::string out = fmt::format("<div class=\"bar\" role=\"img\" aria-label=\"{}\">", report.tally());
  for (const auto& [name, count] : parts)
    if (count > 0) out += fmt::format("<span class=\"{}\" style=\"flex:{}\"></span>", name, count);
  return out + "</div>\n";
}

std::string facts_of(const RunReport& report) {
  std::string scope;
  for (const auto& [field, value] : report.scope) scope += fmt::format("{} = {}; ", field, value);
  const std::pair<std::string_view, std::string> facts[] = {
      {"file", report.file},
      {"SHA-256", report.digest},
      {"claims", report.capabilities},
      {"scope", scope},
      {"machine", report.host},
      {"profile", report.profile + (report.whole ? ", every case of it" : ", some cases of it")},
      {"seed", fmt::format("{}", report.seed)},
      {"begun", to_rfc3339(report.started)},
      {"took", fmt::format("{:.1f} s", std::chrono::duration<double>(report.took).count())}};
  std::string out = "<dl>";
  for (const auto& [name, value] : facts)
    if (!value.empty()) out += fmt::format("<dt>{}</dt><dd>{}</dd>", name, escaped_markup(value));
  return out + "</dl>\n";
}

// What happened, and what the contract says about it.
std::string why_of(const CaseResult& one) {
  if (one.status == CaseStatus::kPass) return {};
  const bool bad = is_bad(one.status);
  std::string out;
  if (!one.text.empty())
    out += fmt::format("<div class=\"why {}\">{}</div>", bad ? "bad" : "", escaped_markup(one.text));
  std::string more;
  if (!one.operation.empty()) more += fmt::format("last begun: {}", one.operation);
  if (!one.stage.empty()) more += fmt::format(", at stage \"{}\"", one.stage);
  for (const std::string& note : one.notes) more += fmt::format("{}{}", more.empty() ? "" : "\n", note);
  if (!one.printed.empty()) more += fmt::format("{}it printed:\n{}", more.empty() ? "" : "\n", one.printed);
  if (const registry::Clause* clause = bad ? registry::find_clause(one.clause) : nullptr)
    more += fmt::format("{}{}: {} ({})\nWhat to do: {}", more.empty() ? "" : "\n\n", clause->id, clause->text,
                        clause->why, clause->remedy);
  if (!more.empty())
    out += fmt::format("<details><summary>more</summary><div class=\"why\">{}</div></details>", escaped_markup(more));
  return out;
}

std::string row_of(const CaseResult& one) {
  const Case* known = find_case(one.id);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(one.took).count();
  return fmt::format(
      "<tr id=\"{0}\"><td class=\"{1}\">{2}</td><td class=\"id\">{0}</td><td>{3}"
      "<div class=\"soft\">{4}</div>{5}</td><td class=\"time\">{6} ms</td></tr>\n",
      escaped_markup(one.id), class_of(one.status), to_string(one.status),
      escaped_markup(known != nullptr ? known->slug : std::string_view()),
      escaped_markup(known != nullptr ? known->sentence : std::string_view()), why_of(one), took);
}

template <class Fits>
std::string section(const RunReport& report, std::string_view title, Fits fits) {
  std::string rows;
  for (const CaseResult& one : report.cases)
    if (fits(one.status)) rows += row_of(one);
  if (rows.empty()) return {};
  return fmt::format("<h2>{}</h2>\n<table><tbody>\n{}</tbody></table>\n", title, rows);
}

}  // namespace

std::string to_html(const RunReport& report) {
  const std::string title = fmt::format("{} {}", escaped_markup(report.provider), escaped_markup(report.version));
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Conformance of {0}</title>\n<style>{1}</style>\n</head>\n<body>\n"
      "<h1>Conformance of {0}</h1>\n<div class=\"verdict\">{2}</div>\n<div class=\"soft\">{3}</div>\n",
      title, kStyle, verdict_of(report), report.tally());
  out += bar_of(report) + facts_of(report);
  if (!report.refusal.empty())
    out += fmt::format("<h2>Refused</h2>\n<div class=\"why bad\">{}</div>\n", escaped_markup(report.refusal));
  out += section(report, "Bad", is_bad);
  out += section(report, "Neither", [](CaseStatus status) { return class_of(status) == "skip"; });
  out += section(report, "Good", [](CaseStatus status) { return status == CaseStatus::kPass; });
  return out + "</body>\n</html>\n";
}

}  // namespace berth::conformance
