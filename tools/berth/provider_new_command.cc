// berth provider new: the SDK's template, under a name of its own.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/os/fd.h"
#include "core/os/process.h"
#include "core/registry/search.h"
#include "tools/berth/commands.h"
#include "tools/berth/template_files.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameBytesMax = 64;  // as the manifest's schema bounds an id
// What Berth itself brings, wherever this command looks.
constexpr std::string_view kOwnIds[] = {"daytona", "local", "reference", "vercel"};

struct File {
  std::string name;
  std::string text;
};

Result<std::string> checked_name(const std::string& name) {
  const auto allowed = [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '-'; };
  const bool good = !name.empty() && std::islower(static_cast<unsigned char>(name[0])) &&
                    name.size() <= kNameBytesMax && std::all_of(name.begin(), name.end(), allowed);
  if (good) return name;
  return fail(ErrorKind::kInvalidArgument,
              fmt::format("'{}' cannot be a provider's id: write a small letter, then up to {} small "
                          "letters, digits and dashes",
                          printable(name.substr(0, 80)), kNameBytesMax - 1));
}

// Of two providers with one id a host uses whichever it finds first. Empty: the id is nobody's here.
std::string warning_about(const std::string& id) {
  constexpr std::string_view kAdvice = "of two with one id a host uses the first that it finds, so take another name "
                                       "unless this one is to replace it";
  for (const registry::Candidate& other : registry::find_all(registry::default_search_path()))
    if (other.inspection.manifest && other.inspection.manifest->id == id)
      return fmt::format("a provider with the id {} is here already, {}: {}", id, other.inspection.path.string(),
                         kAdvice);
  if (std::find(std::begin(kOwnIds), std::end(kOwnIds), id) != std::end(kOwnIds))
    return fmt::format("{} is the id of a provider that Berth brings: {}", id, kAdvice);
  return {};
}

// "my-box" as a class is MyBox.
std::string class_name(std::string_view id) {
  std::string out;
  bool upper = true;
  for (const char c : id) {
    if (c != '-') out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '-';
  }
  return out;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The template says hello everywhere: as a class, as part of an identifier, and as the id.
std::string renamed(std::string_view text, const std::string& id) {
  const std::string identifier = replaced(id, "-", "_");
  std::string out = replaced(std::string(text), "Hello", class_name(id));
  for (const char* part : {"_sh", "_rust"}) {
    out = replaced(std::move(out), std::string("hello") + part, identifier + part);
  }
  return replaced(std::move(out), "hello", id);
}

// The template's table has the files of every language; in a folder stand those that are there.
void keep_rows_of(const std::vector<File>& files, std::string& text) {
  constexpr std::string_view kRow = "| `";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end;
    const bool row = line.starts_with(kRow);
    const std::string_view name = row ? line.substr(kRow.size(), line.find('`', kRow.size()) - kRow.size()) : line;
    const bool there = std::any_of(files.begin(), files.end(), [&](const File& file) { return file.name == name; });
    if (!row || there) out += line;
  }
  text = std::move(out);
}

std::vector<File> files_of(const std::string& language, const std::string& id) {
  namespace files = template_files;
  std::vector<std::pair<std::string, std::string_view>> all = {
      {"README.md", files::readme_md()},
      {"hello.json", files::hello_json()},
      {"hello.sh", files::hello_sh()},
      {"hello_test.cc", files::hello_test_cc()}};
  if (language == "c") {
    all.insert(all.end(), {{"CMakeLists.txt", files::c::cmakelists_txt()},
                           {"hello.c", files::c::hello_c()},
                           {"shell.c", files::c::shell_c()},
                           {"shell.h", files::c::shell_h()}});
  } else if (language == "rust") {
    all.insert(all.end(), {{"CMakeLists.txt", files::rust::cmakelists_txt()},
                           {"abi.rs", files::rust::abi_rs()},
                           {"entry.c", files::rust::entry_c()},
                           {"hello.rs", files::rust::hello_rs()},
                           {"shell.rs", files::rust::shell_rs()}});
  } else {
    all.insert(all.end(), {{"CMakeLists.txt", files::cxx::cmakelists_txt()},
                           {"hello.cc", files::cxx::hello_cc()}});
  }
  std::vector<File> out;
  for (const auto& [name, text] : all) out.push_back({renamed(name, id), renamed(text, id)});
  keep_rows_of(out, out.front().text);  // README.md
  std::sort(out.begin(), out.end(), [](const File& a, const File& b) { return a.name < b.name; });
  return out;
}

Tried<void> write_template(const fs::path& path, std::string_view text) {
  auto file = os::open_file(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (!file) return failed(Exit::kOutput, std::move(file).error());
  if (auto written = os::write_all(file->get(), text); !written) {
    return failed(Exit::kOutput, std::move(written).error());
  }
  return {};
}

// A new folder, or an empty one: nothing of anyone's is written over.
Tried<void> prepare(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return failed(Exit::kOutput, Error(ErrorKind::kIo, fmt::format("{} cannot be made: {}",
                                                                   folder.string(), error.message())));
  }
  if (!fs::is_empty(folder, error) || error) {
    return failed(Exit::kInput,
                  Error(ErrorKind::kConflict,
                        fmt::format("{} is not empty, and nothing is written over; remove it, or say "
                                    "--into with another folder",
                                    folder.string())));
  }
  return {};
}

// Where find_package has to look; empty when it looks there by itself, or there is no SDK there.
std::string sdk_prefix() {
  const fs::path prefix = os::executable_folder().parent_path();
  std::error_code error;
  for (const char* libraries : {BERTH_INSTALL_LIBDIR, "lib"}) {
    if (!fs::exists(prefix / libraries / "cmake/BerthSDK/BerthSDKConfig.cmake", error)) continue;
    return prefix == "/usr" || prefix == "/usr/local" ? "" : prefix.string();
  }
  return "<where berth-sdk is installed>";
}

std::string shell_word(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("/._-+=,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return plain ? word : "'" + replaced(word, "'", "'\\''") + "'";
}

std::vector<std::string> next_commands(const fs::path& folder, const std::string& id) {
  const std::string prefix = sdk_prefix();
  const std::string where = prefix.empty() ? "" : " -DCMAKE_PREFIX_PATH=" + shell_word(prefix);
  return {"cd " + shell_word(folder.string()),
          "cmake -B build" + where,
          "cmake --build build",
          "ctest --test-dir build --output-on-failure",
          "berth conformance run build/" + id + ".so --profile smoke",
          "export BERTH_PROVIDER_PATH=$PWD/build",
          "berth doctor --provider " + id};
}

}  // namespace

Task<int> new_provider(Context& context, ProviderNewOptions options) {
  auto id = checked_name(options.name);
  if (!id) co_return report(context, Failure{Exit::kUsage, std::move(id).error()});
  const fs::path folder = options.into.empty() ? fs::path(*id) : fs::path(options.into);
  if (auto ready = prepare(folder); !ready) co_return report(context, ready.error());
  const std::vector<File> files = files_of(options.language, *id);
  for (const File& file : files) {
    const auto written = write_template(folder / file.name, file.text);
    if (!written) co_return report(context, written.error());
  }
  const std::string warning = warning_about(*id);
  if (!warning.empty()) context.console.note(printable(warning));
  const std::vector<std::string> commands = next_commands(folder, *id);
  if (context.common.json) {
    boost::json::object document;
    document["id"] = *id;
    document["folder"] = folder.string();
    boost::json::array names;
    for (const File& file : files) names.push_back(boost::json::string(file.name));
    document["files"] = std::move(names);
    document["commands"] = boost::json::array(commands.begin(), commands.end());
    document["warning"] = warning;
    co_return to_int(print_json(context.console, std::move(document)));
  }
  std::string text = fmt::format("{} is a provider in {} files, ready to build:\n\n", printable(folder.string()),
                                 files.size());
  for (const std::string& command : commands) text += "  " + printable(command) + "\n";
  co_return to_int(context.console.print(text));
}

}  // namespace berth::cli
