// Journal: every request a stand-in got and what it answered, in memory and as lines of a file. Nothing of
// headers or bodies, so no secret.
#ifndef BERTH_TESTS_STANDINS_SERVER_JOURNAL_H_
#define BERTH_TESTS_STANDINS_SERVER_JOURNAL_H_

#include <boost/json/array.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace berth::standins {

struct JournalEntry {
  std::string endpoint;  // as in endpoints.txt; empty: of none
  std::string method;
  std::string path;
  int status = 0;        // 0: the client was told none
  std::vector<std::string> faults;
};

class Journal {
 public:
  // An empty path: in memory only.
  explicit Journal(const std::filesystem::path& file);

  void add(const JournalEntry& entry);
  const boost::json::array& entries() const { return entries_; }
  void clear() { entries_.clear(); }

 private:
  boost::json::array entries_;
  std::ofstream file_;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_JOURNAL_H_
