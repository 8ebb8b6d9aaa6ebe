#include "tests/standins/server/journal.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace berth::standins {

Journal::Journal(const std::filesystem::path& file) {
  if (!file.empty()) file_.open(file, std::ios::trunc);
}

void Journal::add(const JournalEntry& entry) {
  boost::json::object line;
  line["endpoint"] = entry.endpoint;
  line["method"] = entry.method;
  line["path"] = entry.path;
  line["status"] = entry.status;
  if (!entry.faults.empty()) {
    boost::json::array& faults = line["faults"].emplace_array();
    for (const std::string& name : entry.faults) faults.emplace_back(name);
  }
  if (file_.is_open()) file_ << boost::json::serialize(line) << '\n' << std::flush;
  entries_.push_back(std::move(line));
}

}  // namespace berth::standins
