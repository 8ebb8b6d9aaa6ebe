#include "tools/berth/context.h"

#include <string>

#include "core/base/json.h"

namespace berth::cli {
namespace {

// Objects and arrays in lines of their own; small enough a printer that no other is worth it.
void write_indented(const boost::json::value& value, std::string& out, std::size_t indent) {
  const std::string pad(indent + 2, ' ');
  const auto* object = value.if_object();
  const auto* array = value.if_array();
  if (object != nullptr && !object->empty()) {
    out += "{\n";
    std::size_t left = object->size();
    for (const auto& [key, member] : *object) {
      out += pad + to_json_text(boost::json::value(key)) + ": ";
      write_indented(member, out, indent + 2);
      out += --left == 0 ? "\n" : ",\n";
    }
    out += std::string(indent, ' ') + "}";
  } else if (array != nullptr && !array->empty()) {
    out += "[\n";
    std::size_t left = array->size();
    for (const boost::json::value& member : *array) {
      out += pad;
      write_indented(member, out, indent + 2);
      out += --left == 0 ? "\n" : ",\n";
    }
    out += std::string(indent, ' ') + "]";
  } else {
    out += to_json_text(value);
  }
}

std::string to_indented_text(const boost::json::value& document) {
  std::string text;
  write_indented(document, text, 0);
  return text + "\n";
}

}  // namespace

Exit print_json(Console& console, const boost::json::value& document) {
  return console.print(to_indented_text(document));
}

std::string error_document(const Error& error, int exit) {
  boost::json::object said;
  said["kind"] = to_string(error.kind());
  said["message"] = to_valid_utf8(error.message());
  said["exit_code"] = exit;
  boost::json::object document;
  document["error"] = std::move(said);
  return to_indented_text(document);
}

int report(const Context& context, const Error& error, int exit) {
  context.console.error(error.message());
  if (context.common.json) {
    const Exit printed = context.console.print(error_document(error, exit));
    if (printed != Exit::kSuccess) return to_int(printed);
  }
  return exit;
}

int report(const Context& context, const Failure& failure) {
  return report(context, failure.error, to_int(failure.exit));
}

}  // namespace berth::cli
