#include "tests/execution/case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/execution/wheel.h"

namespace berth::test {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::pair<std::string_view, std::string_view> split(std::string_view text) {
  const std::size_t end = text.find(' ');
  if (end == text.npos) return {text, {}};
  return {text.substr(0, end), trim(text.substr(end + 1))};
}

class CaseReader {
 public:
  explicit CaseReader(std::filesystem::path file) : file_(std::move(file)), in_(file_) {}

  void read_into(std::vector<Case>& cases) {
    std::string line;
    while (next(line)) {
      const std::string_view text = trim(line);
      if (text.empty() || text.front() == '#') continue;
      const auto [word, rest] = split(text);
      if (word == "case") {
        cases.emplace_back();
        cases.back().name = rest;
        cases.back().file = file_;
        cases.back().line = number_;
        cases.back().request.key = {"tester", "cases", std::string(rest)};
      } else if (cases.empty()) {
        complain("the file does not begin with a case");
      } else {
        take(cases.back(), word, rest);
      }
    }
  }

 private:
  bool next(std::string& line) {
    ++number_;
    return static_cast<bool>(std::getline(in_, line));
  }

  [[noreturn]] void complain(const std::string& what) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", file_.string(), number_, what));
  }

  void take(Case& made, std::string_view word, std::string_view rest) {
    ExecutionRequest& request = made.request;
    if (word == "class") made.group = rest;
    else if (word == "language") request.language = language(rest);
    else if (word == "source") request.code = text(rest);
    else if (word == "stdin") request.input = text(rest);
    else if (word == "argument") request.arguments.push_back(text(rest));
    else if (word == "package") request.packages.push_back(text(rest));
    else if (word == "named") request.file_name = rest;
    else if (word == "timeout") request.timeout = std::chrono::milliseconds(number(rest));
    else if (word == "stdin-bytes") request.input.assign(number(rest), 'i');
    else if (word == "disk") request.limits.disk_bytes = number(rest);
    else if (word == "memory") request.limits.memory_bytes = number(rest);
    else if (word == "keep") request.stdout_keep_bytes = request.stderr_keep_bytes = number(rest);
    else if (word == "wheel") take_wheel(request, rest);
    else if (word == "isolated") made.needs_isolation = true;
    else if (word == "environment" || word == "file") take_pair(request, word, rest);
    else if (word == "expect") take_expectation(made, rest);
    else complain(fmt::format("'{}' is no word of a case", word));
  }

  void take_pair(ExecutionRequest& request, std::string_view word, std::string_view rest) {
    const auto [name, value] = split(rest);
    if (word == "file") request.files.push_back({unescape(name), text(value)});
    else request.env.emplace_back(std::string(name), text(value));
  }

  void take_wheel(ExecutionRequest& request, std::string_view rest) {
    const auto [name, after] = split(rest);
    const auto [version, source] = split(after);
    request.files.push_back(make_wheel(name, version, text(source)));
  }

  void take_expectation(Case& made, std::string_view rest) {
    Expectation expectation;
    const auto [what, after] = split(rest);
    expectation.what = what;
    expectation.how = "is";
    expectation.line = number_;
    std::string_view value = after;
    const auto [first, second] = split(after);
    if (first == "has" || first == "lacks") {
      expectation.how = first;
      value = second;
    }
    expectation.value = text(value);
    made.expectations.push_back(std::move(expectation));
  }

  Language language(std::string_view word) {
    const std::optional<Language> known = language_from(word);
    if (!known) complain(fmt::format("'{}' is no language", word));
    return *known;
  }

  std::uint64_t number(std::string_view digits) {
    std::uint64_t value = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') complain(fmt::format("'{}' is no number", digits));
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return value;
  }

  // A bare word, a quoted text with escapes, or "<<END" and lines up to that word.
  std::string text(std::string_view value) {
    if (value.substr(0, 2) == "<<") return block(std::string(value.substr(2)));
    if (value.empty() || value.front() != '"') return std::string(value);
    if (value.size() < 2 || value.back() != '"') complain("a quoted text has no end");
    return unescape(value.substr(1, value.size() - 2));
  }

  std::string block(const std::string& end) {
    std::string out;
    std::string line;
    while (next(line)) {
      if (line == end) return out;
      out.append(line).append("\n");
    }
    complain(fmt::format("no line '{}' ends the text", end));
  }

  std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\' || i + 1 == text.size()) {
        out += text[i];
        continue;
      }
      const char c = text[++i];
      if (c == 'n') out += '\n';
      else if (c == 'r') out += '\r';
      else if (c == 't') out += '\t';
      else if (c == 'x' && i + 2 < text.size()) {
        out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
      } else if (c == '\\' || c == '"') out += c;
      else complain(fmt::format("'\\{}' is no escape", c));
    }
    return out;
  }

  std::filesystem::path file_;
  std::ifstream in_;
  std::size_t number_ = 0;
};

}  // namespace

std::vector<Case> read_cases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".cases") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const auto& file : files) CaseReader(file).read_into(cases);
  for (const Case& made : cases) {
    if (made.expectations.empty() || made.group.empty()) {
      throw std::runtime_error(fmt::format("{}:{}: case {} has no class or expects nothing",
                                           made.file.string(), made.line, made.name));
    }
  }
  return cases;
}

}  // namespace berth::test
