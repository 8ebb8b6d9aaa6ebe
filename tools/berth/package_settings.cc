#include "tools/berth/package_settings.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/berth/values.h"

namespace berth::cli {
namespace {

using boost::json::value;
using Take = std::function<Status(const value&)>;

tl::unexpected<Error> wrong(std::string what) {
  return fail(ErrorKind::kInvalidArgument, std::move(what));
}

Take take_text(std::string& into) {
  return [&into](const value& from) -> Status {
    if (!from.is_string() || from.get_string().empty()) return wrong("is not text");
    into = std::string(from.get_string());
    return {};
  };
}

Take take_texts(std::vector<std::string>& into) {
  return [&into](const value& from) -> Status {
    if (!from.is_array()) return wrong("is not a list of texts");
    for (const value& item : from.get_array()) {
      std::string one;
      BERTH_CHECK_OK(take_text(one)(item));
      into.push_back(std::move(one));
    }
    return {};
  };
}

template <class T, class Parse>
Take take_measured(T& into, Parse parse) {
  return [&into, parse](const value& from) -> Status {
    std::string written;
    BERTH_CHECK_OK(take_text(written)(from));
    BERTH_TRY(into, parse(written));
    return {};
  };
}

}  // namespace

Status read_package_settings(const value& from, const std::string& path, PackageIndex& into) {
  if (!from.is_object()) return wrong(path + ": is not an object");
  std::string certificates;
  const std::map<std::string, Take, std::less<>> readers = {
      {"indexUrl", take_text(into.index_url)},
      {"extraIndexUrls", take_texts(into.extra_index_urls)},
      {"findLinks", take_texts(into.find_links)},
      {"noIndex",
       [&into](const value& given) -> Status {
         if (!given.is_bool()) return wrong("is neither true nor false");
         into.no_index = given.get_bool();
         return {};
       }},
      {"fileHosts", take_texts(into.file_hosts)},
      {"trustedHosts", take_texts(into.trusted_hosts)},
      {"certificates", take_text(certificates)},
      {"cache", take_measured(into.cache_bytes_max, parse_size)},
      {"timeout", take_measured(into.timeout, parse_duration)},
      {"idleTimeout", take_measured(into.idle_timeout, parse_duration)},
  };
  for (const auto& [key, member] : from.get_object()) {
    const std::string name(key);
    const std::string place = path + "." + name.substr(0, 64);
    const auto reader = readers.find(name);
    if (reader == readers.end()) {
      std::string known;
      for (const auto& [known_name, unused] : readers) known += " " + known_name;
      return wrong(fmt::format("{}: is unknown; known here:{}", place, known));
    }
    const Status read = reader->second(member);
    if (!read) return fail(read.error().with(place));
  }
  into.certificates = certificates;
  const Status valid = validate(into);
  if (!valid) return fail(valid.error().with(path));
  return {};
}

}  // namespace berth::cli
