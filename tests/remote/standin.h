// A stand-in of a service as a process of its own, told what to get wrong.
#ifndef BERTH_TESTS_REMOTE_STANDIN_H_
#define BERTH_TESTS_REMOTE_STANDIN_H_

#include <sys/types.h>

#include <boost/json/object.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace berth::tests {

// Starts with the first test that needs one and ends with its owner. One thread.
class Standin {
 public:
  explicit Standin(const std::string& service);
  Standin(const Standin&) = delete;
  Standin& operator=(const Standin&) = delete;
  ~Standin();

  const std::string& url() const { return url_; }
  const std::string& authority_file() const { return authority_file_; }
  const std::filesystem::path& folder() const { return folder_; }

  // One command, as its README lists them; the answer.
  boost::json::object command(std::string_view json);
  // Adds one fault: a JSON object, whose body may be JSON too.
  void fault(std::string_view json);
  void clear() { command("{\"clear\":true}"); }
  // How many requests of an endpoint came since it was cleared.
  int requests(std::string_view endpoint);
  // How many sandboxes there really are.
  int machines();

 private:
  std::string read_line();

  std::filesystem::path folder_;
  pid_t pid_ = -1;
  int input_ = -1;
  std::FILE* output_ = nullptr;
  std::string url_;
  std::string authority_file_;
};

}  // namespace berth::tests

#endif  // BERTH_TESTS_REMOTE_STANDIN_H_
