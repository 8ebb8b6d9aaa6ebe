#include "tools/berth/help_formatter.h"

#include <string_view>

namespace berth::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kTermColumn = 2;
constexpr std::size_t kTextColumn = 22;

// `text` in words, from column `column` of a line that is already there, broken before kWidth.
std::string wrapped(std::string_view text, std::size_t column, std::size_t indent) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(' '), text.size());
    if (column + length > kWidth && column > indent) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    out += text.substr(0, length);
    column += length;
    text.remove_prefix(length);
    if (text.empty()) break;
    text.remove_prefix(1);
    if (column < kWidth) out += ' ';
    ++column;
  }
  // A blank before a break is not worth keeping.
  for (std::size_t at = out.find(" \n"); at != std::string::npos; at = out.find(" \n", at)) {
    out.erase(at, 1);
  }
  return out;
}

// "  TERM        text", the text on the next line when the term is too long.
std::string entry(std::string_view term, std::string_view text) {
  std::string out(kTermColumn, ' ');
  out += term;
  if (out.size() + 1 >= kTextColumn) {
    out += "\n" + std::string(kTextColumn, ' ');
  } else {
    out.append(kTextColumn - out.size(), ' ');
  }
  return out + wrapped(text, kTextColumn, kTextColumn) + "\n";
}

}  // namespace

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string term = option->get_name(is_positional, true);
  for (std::size_t at = term.find(','); at != std::string::npos; at = term.find(',', at + 2)) {
    term.insert(at + 1, " ");
  }
  const std::string type = option->get_type_name();
  if (!is_positional && option->get_type_size() != 0 && !type.empty()) term += " " + type;
  return entry(term, option->get_description());
}

std::string HelpFormatter::make_subcommand(const CLI::App* app) const {
  return entry(app->get_name(), app->get_description());
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped(app->get_description() + ".", 0, 0) + "\n\n";
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  if (app->get_parent() != nullptr) {
    std::string path;
    for (const CLI::App* at = app->get_parent(); at != nullptr; at = at->get_parent()) {
      path = at->get_name() + " " + path;
    }
    name = path + app->get_name();
  }
  std::string out = "Usage: " + name;
  if (!app->get_subcommands([](const CLI::App*) { return true; }).empty()) out += " COMMAND";
  for (const CLI::Option* option : app->get_options([](const CLI::Option* candidate) {
         return candidate->get_positional();
       })) {
    const std::string positional = option->get_name(true);
    out += option->get_required() ? " " + positional : " [" + positional + "]";
  }
  return out + " [OPTION ...]\n";
}

}  // namespace berth::cli
