// SPDX-License-Identifier: Apache-2.0
//
// berth-embed-manifest MANIFEST NOTES.c FACTS.hpp
//
// Turns a manifest into what a provider is built with: a C source that places the two ELF notes,
// and a C++ header with what the compiler compares with the provider's class. The manifest is
// written in canonical form: keys sorted by bytes, no spaces, shortest escapes. It judges only what
// it needs; the schema and the host judge the rest.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "berth/abi.h"

namespace {

constexpr int kDepthMax = 32;

struct Value {
  enum class Kind { kScalar, kString, kArray, kObject };
  Kind kind = Kind::kScalar;
  std::string text;  // a scalar's token, or a string's decoded bytes
  std::vector<Value> items;
  std::map<std::string, Value> members;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Value document() {
    Value value = parse(0);
    skip_space();
    if (at_ != text_.size()) fail("text after the document");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at byte " + std::to_string(at_));
  }

  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void expect(char wanted) {
    if (peek() != wanted) fail(std::string("expected '") + wanted + "'");
    ++at_;
  }

  Value parse(int depth) {
    if (depth > kDepthMax) fail("nested deeper than 32");
    skip_space();
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"': {
        Value value;
        value.kind = Value::Kind::kString;
        value.text = string();
        return value;
      }
      default:
        return scalar();
    }
  }

  Value object(int depth) {
    Value value;
    value.kind = Value::Kind::kObject;
    expect('{');
    skip_space();
    if (peek() == '}') return ++at_, value;
    for (;;) {
      skip_space();
      const std::string key = string();
      skip_space();
      expect(':');
      if (!value.members.emplace(key, parse(depth + 1)).second)
        fail("the key \"" + key + "\" is repeated");
      skip_space();
      if (peek() == '}') return ++at_, value;
      expect(',');
    }
  }

  Value array(int depth) {
    Value value;
    value.kind = Value::Kind::kArray;
    expect('[');
    skip_space();
    if (peek() == ']') return ++at_, value;
    for (;;) {
      value.items.push_back(parse(depth + 1));
      skip_space();
      if (peek() == ']') return ++at_, value;
      expect(',');
    }
  }

  Value scalar() {
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos)
      ++at_;
    Value value;
    value.text = text_.substr(start, at_ - start);
    const std::string& token = value.text;
    if (token == "true" || token == "false" || token == "null") return value;
    const std::string_view digits = std::string_view(token).substr(token.starts_with('-') ? 1 : 0);
    const bool integer = !digits.empty() && digits.size() <= 18 &&
                         digits.find_first_not_of("0123456789") == std::string_view::npos &&
                         (digits.size() == 1 || digits[0] != '0') && token != "-0";
    if (!integer) fail("a manifest holds integers, true, false and null; not \"" + token + "\"");
    return value;
  }

  std::uint32_t hex4() {
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      const auto digit =
          std::string_view("0123456789abcdef")
              .find(static_cast<char>(peek() >= 'A' && peek() <= 'F' ? peek() + 32 : peek()));
      if (digit == std::string_view::npos || peek() == '\0')
        fail("\\u wants four hexadecimal digits");
      code = code * 16 + static_cast<std::uint32_t>(digit);
      ++at_;
    }
    return code;
  }

  void append_code_point(std::string& out) {
    std::uint32_t code = hex4();
    if (code >= 0xDC00 && code < 0xE000) fail("half a surrogate pair");
    if (code >= 0xD800 && code < 0xDC00) {
      expect('\\');
      expect('u');
      const std::uint32_t low = hex4();
      if (low < 0xDC00 || low >= 0xE000) fail("half a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    const auto push = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (code < 0x80) return push(code);
    if (code < 0x800) return push(0xC0 | code >> 6), push(0x80 | (code & 0x3F));
    if (code < 0x10000)
      return push(0xE0 | code >> 12), push(0x80 | (code >> 6 & 0x3F)), push(0x80 | (code & 0x3F));
    push(0xF0 | code >> 18), push(0x80 | (code >> 12 & 0x3F)), push(0x80 | (code >> 6 & 0x3F));
    push(0x80 | (code & 0x3F));
  }

  std::string string() {
    expect('"');
    std::string out;
    for (;;) {
      const char next = peek();
      if (at_ >= text_.size() || static_cast<unsigned char>(next) < 0x20)
        fail("a string is not closed");
      ++at_;
      if (next == '"') return out;
      if (next != '\\') {
        out.push_back(next);
        continue;
      }
      static constexpr std::string_view kEscapes = "\"\\/bfnrt";
      static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      if (peek() == 'u') {
        ++at_;
        append_code_point(out);
        continue;
      }
      const std::size_t which = kEscapes.find(peek());
      if (which == std::string_view::npos || peek() == '\0') fail("an unknown escape");
      out.push_back(kMeanings[which]);
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void append_quoted(const std::string& text, std::string& out) {
  out.push_back('"');
  for (const char c : text) {
    static constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t";
    static constexpr std::string_view kLetters = "\"\\bfnrt";
    const std::size_t which = kSpecial.find(c);
    if (which != std::string_view::npos) {
      out.push_back('\\');
      out.push_back(kLetters[which]);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out.append(escape);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void append_canonical(const Value& value, std::string& out) {
  switch (value.kind) {
    case Value::Kind::kScalar:
      out.append(value.text);
      return;
    case Value::Kind::kString:
      append_quoted(value.text, out);
      return;
    case Value::Kind::kArray: {
      const char* separator = "[";
      if (value.items.empty()) out.push_back('[');
      for (const Value& item : value.items) {
        out.append(separator);
        separator = ",";
        append_canonical(item, out);
      }
      out.push_back(']');
      return;
    }
    case Value::Kind::kObject: {
      const char* separator = "{";
      if (value.members.empty()) out.push_back('{');
      for (const auto& [key, member] : value.members) {
        out.append(separator);
        separator = ",";
        append_quoted(key, out);
        out.push_back(':');
        append_canonical(member, out);
      }
      out.push_back('}');
      return;
    }
  }
}

const Value& member(const Value& object, const std::string& key, Value::Kind kind) {
  const auto found = object.members.find(key);
  if (found == object.members.end() || found->second.kind != kind)
    throw std::runtime_error("the field \"" + key + "\" is missing or of another type");
  return found->second;
}

std::uint16_t abi_number(const Value& manifest, const std::string& key) {
  const Value& number =
      member(member(manifest, "abi", Value::Kind::kObject), key, Value::Kind::kScalar);
  const unsigned long value = std::stoul(number.text);
  if (number.text[0] == '-' || value > 65535)
    throw std::runtime_error("abi." + key + " is out of range");
  return static_cast<std::uint16_t>(value);
}

void append_u32(std::uint32_t value, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>(value >> shift & 0xFF));
}

void append_u16(std::uint16_t value, std::string& out) {
  out.push_back(static_cast<char>(value & 0xFF));
  out.push_back(static_cast<char>(value >> 8));
}

// The note as it stands in the file: sizes, type, padded owner, padded payload.
std::string note_bytes(std::uint32_t type, const std::string& payload) {
  std::string out;
  append_u32(sizeof BERTH_NOTE_OWNER, out);
  append_u32(static_cast<std::uint32_t>(payload.size()), out);
  append_u32(type, out);
  out.append(BERTH_NOTE_OWNER, sizeof BERTH_NOTE_OWNER);
  out.resize((out.size() + 3) / 4 * 4, '\0');
  out.append(payload);
  out.resize((out.size() + 3) / 4 * 4, '\0');
  return out;
}

// GNU and LLVM tools make a section whose name begins with ".note" a note and keep it: `used`
// carries it past the compiler, SHT_NOTE past the linker's garbage collection and past strip.
std::string note_source(const std::string& name, const std::string& bytes) {
  std::string out = "static const unsigned char berth_note_" + name + "[" +
                    std::to_string(bytes.size()) + "]\n    __attribute__((section(\".note.berth." +
                    name + "\"), used, aligned(4))) = {";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    out += i % 20 == 0 ? "\n    " : " ";
    out += std::to_string(static_cast<unsigned>(static_cast<unsigned char>(bytes[i]))) + ",";
  }
  return out + "\n};\n";
}

std::string list_source(const Value& manifest, const std::string& key, const std::string& name) {
  const Value& list = member(manifest, key, Value::Kind::kArray);
  std::string out = "  static constexpr std::array<std::string_view, " +
                    std::to_string(list.items.size()) + "> " + name + "{";
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (list.items[i].kind != Value::Kind::kString)
      throw std::runtime_error("the field \"" + key + "\" must hold texts");
    if (i != 0) out += ", ";
    append_quoted(list.items[i].text, out);
  }
  return out + "};\n";
}

std::string facts_source(const Value& manifest) {
  const auto word = [&manifest](const char* key) {
    return member(manifest, key, Value::Kind::kString).text;
  };
  const auto truth = [](bool value) { return std::string(value ? "true" : "false"); };
  std::string id;
  append_quoted(word("id"), id);
  return "// Made from the provider's manifest at build time.\n#pragma once\n\n#include <array>\n"
         "#include <string_view>\n\nnamespace berth::manifest {\n\nstruct Facts {\n"
         "  static constexpr bool kKnown = true;\n  static constexpr const char* kId = " +
         id + ";\n" +
         "  static constexpr unsigned kMinor = " + std::to_string(abi_number(manifest, "minor")) +
         ";\n" + "  static constexpr unsigned kMinorRequired = " +
         std::to_string(abi_number(manifest, "minorRequired")) + ";\n" +
         "  static constexpr bool kFences = " + truth(word("recovery") == "fence") + ";\n" +
         "  static constexpr bool kCombinedStreams = " + truth(word("streams") == "combined") +
         ";\n" + list_source(manifest, "extensions", "kExtensions") +
         list_source(manifest, "hostExtensions", "kHostExtensions") +
         "};\n\n}  // namespace berth::manifest\n";
}

void write_file(const char* path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(std::string("cannot write ") + path);
}

void embed(const char* manifest_path, const char* notes_path, const char* facts_path) {
  std::ifstream in(manifest_path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot be read");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const Value manifest = Parser(text).document();
  if (manifest.kind != Value::Kind::kObject) throw std::runtime_error("is not an object");
  std::string canonical;
  append_canonical(manifest, canonical);
  if (canonical.size() > BERTH_MANIFEST_MAX_BYTES)
    throw std::runtime_error("is larger than 64 KiB");

  std::string abi;
  append_u16(BERTH_NOTE_FORMAT, abi);
  append_u16(abi_number(manifest, "major"), abi);
  append_u16(abi_number(manifest, "minor"), abi);
  append_u16(abi_number(manifest, "minorRequired"), abi);
  append_u32(0, abi);
  write_file(notes_path, "/* The provider's ELF notes, made from its manifest at build time. */\n" +
                             note_source("abi", note_bytes(BERTH_NOTE_ABI, abi)) +
                             note_source("manifest", note_bytes(BERTH_NOTE_MANIFEST, canonical)));
  write_file(facts_path, facts_source(manifest));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: berth-embed-manifest MANIFEST NOTES.c FACTS.hpp\n", stderr);
    return 2;
  }
  try {
    embed(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "berth-embed-manifest: %s: %s\n", argv[1], error.what());
    return 1;
  }
}
