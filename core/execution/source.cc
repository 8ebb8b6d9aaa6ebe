#include "core/execution/source.h"

#include <array>
#include <optional>
#include <utility>

namespace berth {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\f' || c == '\r'; }

// As much of Python's lexer as tells where a logical line begins.
class LineScanner {
 public:
  // True when a statement may start at the beginning of the next physical line.
  bool at_statement() const { return quote_ == 0 && depth_ == 0 && !continued_; }

  // Takes one physical line without its line feed.
  void take(std::string_view line) {
    continued_ = false;
    for (std::size_t i = 0; i < line.size();) {
      i = quote_ != 0 ? in_string(line, i) : in_code(line, i);
    }
    // An unfinished one-line string ends with its line unless a backslash carries it on.
    if (quote_ != 0 && !triple_ && !continued_) quote_ = 0;
  }

 private:
  static bool is_last(std::string_view line, std::size_t at) {
    return at + 1 >= line.size() || (at + 2 == line.size() && line[at + 1] == '\r');
  }

  std::size_t in_string(std::string_view line, std::size_t i) {
    if (line[i] == '\\') {
      if (is_last(line, i)) continued_ = true;
      return i + 2;
    }
    if (line[i] != quote_) return i + 1;
    if (!triple_) {
      quote_ = 0;
      return i + 1;
    }
    if (line.substr(i, 3) == std::string(3, quote_)) {
      quote_ = 0;
      return i + 3;
    }
    return i + 1;
  }

  std::size_t in_code(std::string_view line, std::size_t i) {
    const char c = line[i];
    if (c == '#') return line.size();
    if (c == '\\' && is_last(line, i)) {
      continued_ = true;
      return line.size();
    }
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    if (c != '"' && c != '\'') return i + 1;
    quote_ = c;
    triple_ = line.substr(i, 3) == std::string(3, c);
    return i + (triple_ ? 3 : 1);
  }

  char quote_ = 0;
  bool triple_ = false;
  bool continued_ = false;
  std::size_t depth_ = 0;
};

// The next blank-delimited word of `text`, which is shortened by it.
std::string_view next_word(std::string_view& text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  std::size_t end = 0;
  while (end < text.size() && !is_space(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

bool is_python(std::string_view word) {
  return word == "python" || word == "python3" || word == "{sys.executable}";
}

// What follows `pip install` when `line` is such a statement.
std::optional<std::string_view> install_arguments(std::string_view line) {
  std::string_view rest = line;
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
  if (rest.empty() || (rest.front() != '!' && rest.front() != '%')) return std::nullopt;
  rest.remove_prefix(1);
  std::string_view word = next_word(rest);
  if (is_python(word)) {
    if (next_word(rest) != "-m") return std::nullopt;
    word = next_word(rest);
  }
  if (word != "pip" && word != "pip3") return std::nullopt;
  if (next_word(rest) != "install") return std::nullopt;
  return rest;
}

bool ends_command(std::string_view word) {
  constexpr std::array<std::string_view, 5> kEnds = {"|", "||", "&", "&&", ";"};
  for (const std::string_view end : kEnds) {
    if (word == end) return true;
  }
  return false;
}

// A redirection like `>`, `2>/dev/null` or `2>&1`; `bare` when its target is the next word.
bool is_redirection(std::string_view word, bool& bare) {
  const std::size_t at = word.find_first_of("<>");
  if (at > 1 || (at == 1 && word[0] != '1' && word[0] != '2' && word[0] != '&')) return false;
  bare = word.find_last_of("<>") + 1 == word.size();
  return true;
}

// Splits a line's words into installs: `a && pip install b` is two, redirections are no arguments.
void add_installs(std::string_view text, std::size_t line, std::vector<InstallCommand>& installs) {
  std::vector<std::string> words = split_words(text);
  InstallCommand command;
  command.line = line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    bool bare = false;
    if (is_redirection(words[i], bare)) {
      if (bare) ++i;
      continue;
    }
    if (!ends_command(words[i])) {
      command.arguments.push_back(std::move(words[i]));
      continue;
    }
    const bool more = (words[i] == "&&" || words[i] == ";") && i + 2 < words.size() &&
                      (words[i + 1] == "pip" || words[i + 1] == "pip3") && words[i + 2] == "install";
    if (!more) break;
    i += 2;
    if (!command.arguments.empty()) installs.push_back(std::exchange(command, {{}, line}));
  }
  if (!command.arguments.empty()) installs.push_back(std::move(command));
}

bool carries_on(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return !line.empty() && line.back() == '\\';
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;  // a word has begun, be it empty
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else if (quote == '"' && c == '\\' && i + 1 < text.size() &&
                 (text[i + 1] == '"' || text[i + 1] == '\\')) {
        word += text[++i];
      } else {
        word += c;
      }
      continue;
    }
    if (c == '\n' || is_space(c)) {
      if (open) words.push_back(std::exchange(word, {}));
      open = false;
      continue;
    }
    if (c == '#' && !open) break;
    if (c == ';' && open) {
      words.push_back(std::exchange(word, {}));
      open = false;
    }
    open = true;
    if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
    } else {
      word += c;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

PreparedSource prepare_python(std::string_view code) {
  PreparedSource prepared;
  LineScanner scanner;
  std::size_t number = 0;
  for (std::size_t at = 0; at < code.size();) {
    const auto line_end = [&](std::size_t from) {
      const std::size_t found = code.find('\n', from);
      return found == std::string_view::npos ? code.size() : found;
    };
    std::size_t end = line_end(at);
    std::string_view line = code.substr(at, end - at);
    ++number;
    const auto arguments =
        scanner.at_statement() ? install_arguments(line) : std::optional<std::string_view>();
    if (!arguments) {
      scanner.take(line);
      prepared.code.append(code.substr(at, end + (end < code.size() ? 1u : 0u) - at));
      at = end + 1;
      continue;
    }
    // The command may go on over several lines; each keeps its place as an empty one.
    std::string words(*arguments);
    const std::size_t first = number;
    std::string blank;
    while (carries_on(line) && end < code.size()) {
      words.erase(words.find_last_of('\\'));
      at = end + 1;
      end = line_end(at);
      line = code.substr(at, end - at);
      words.append(" ").append(line);
      blank += '\n';
      ++number;
    }
    add_installs(words, first, prepared.installs);
    const std::size_t start = static_cast<std::size_t>(arguments->data() - code.data());
    const std::size_t line_start = code.rfind('\n', start) + 1;
    const std::size_t indent = code.find_first_not_of(" \t\f", line_start) - line_start;
    prepared.code.append(code.substr(line_start, indent)).append("pass").append(blank);
    if (!line.empty() && line.back() == '\r') prepared.code += '\r';
    if (end < code.size()) prepared.code += '\n';
    at = end + 1;
  }
  return prepared;
}

}  // namespace berth
