// What a relay does for its requests. Private to relay*.cc.
#ifndef BERTH_CORE_EXECUTION_INSTALL_RELAY_WORK_H_
#define BERTH_CORE_EXECUTION_INSTALL_RELAY_WORK_H_

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/execution/install/fetch.h"
#include "core/execution/install/page.h"
#include "core/execution/install/relay.h"
#include "core/execution/install/wheel_cache.h"
#include "core/lifecycle/signal.h"

namespace berth::install {

// Shared by the relay and the requests that are under way.
class Relay::Work : public std::enable_shared_from_this<Relay::Work> {
 public:
  Work(std::shared_ptr<const PackageIndex> index, OutputSink& said,
       std::function<void(std::string_view)> on_progress);

  void close();
  void take(std::string_view bytes);  // of the installer's standard output

  // One answer, in pieces. They wait while the installer does not read.
  Task<void> send_head(std::uint32_t id, unsigned status, std::int64_t length, std::string reason);
  Task<Status> send_data(std::uint32_t id, std::string_view bytes);
  void send_end(std::uint32_t id, bool whole);
  // An answer that is only a sentence; it is kept among the problems too.
  Task<void> refuse(std::uint32_t id, unsigned status, std::string sentence);
  void add_problem(std::string sentence);
  void progress(std::string_view line);
  void wake_senders();
  // Counts what is fetched. False: this install has had its share.
  bool count(std::uint64_t bytes);

  std::shared_ptr<const PackageIndex> index;
  OutputSink* said;  // null after close
  std::optional<boost::asio::any_io_executor> executor;
  std::vector<Url> indexes;
  std::vector<std::string> problems;
  std::string pending;  // to the installer
  bool starved = false;  // it waits for more
  bool closed = false;
  std::function<void()> ready;

 private:
  struct File {
    PageLink link;
    std::string path;  // of this machine; empty: it is fetched
  };
  class PageSink;
  class FileSink;

  void push(std::string_view bytes);
  void take_line(std::string_view line);
  Task<void> serve(std::uint32_t id, std::string path);
  Task<void> route(std::uint32_t id, std::string path);
  Task<void> serve_page(std::uint32_t id, Url url);
  Task<void> serve_folder(std::uint32_t id, std::string folder);
  Task<void> serve_file(std::uint32_t id, File file);
  // False: it is not there whole; nothing was sent.
  Task<bool> serve_kept(std::uint32_t id, const File& file, os::Fd descriptor, bool verify);
  Task<void> send_page(std::uint32_t id, std::vector<File> files);
  // Follows redirects within what is allowed. `into` sees only the last answer.
  Task<Status> fetch(Url url, FetchSink& into);
  bool allows(const Url& url) const;
  bool is_trusted(const Url& url) const;
  std::string credentials_for(const Url& url) const;

  std::function<void(std::string_view)> on_progress_;
  Fetcher fetcher_;
  WheelCache cache_;
  std::set<std::string> origins_;  // host:port that may be connected to
  std::map<std::string, std::string> credentials_;  // by scheme and origin
  std::vector<File> files_;
  std::unordered_map<std::string, std::size_t> file_numbers_;  // by URL or path
  std::string line_;
  std::uint64_t say_left_ = 0;
  Stream say_stream_ = Stream::kStdout;
  bool broken_ = false;  // the installer's output is not the protocol's
  std::size_t requests_ = 0;
  std::size_t under_way_ = 0;
  std::uint64_t fetched_ = 0;
  Signal drained_;
};

}  // namespace berth::install

#endif  // BERTH_CORE_EXECUTION_INSTALL_RELAY_WORK_H_
