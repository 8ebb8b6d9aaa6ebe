// The one opening of a sandbox during an install: requests for pages and files of the configured
// index come out of the installer's standard output, answers go into its standard input.
//
// The host fetches. What the sandbox may ask for is a page by a package's name, and a file that such
// a page has listed; it never names a host, sees a credential or touches the cache. Everything that
// comes out of it is foreign input.
//
//   out:  get ID PATH            in:  ID head STATUS LENGTH REASON    (LENGTH -1: not known)
//         say STREAM BYTES            ID data BYTES
//         <bytes>                     <bytes>
//                                     ID end | ID cut
//
// PATH is /index/K/NAME/ (a package's page in the K-th index), /links/K/ (the K-th find-links) or
// /file/N/FILENAME.
#ifndef BERTH_CORE_EXECUTION_INSTALL_RELAY_H_
#define BERTH_CORE_EXECUTION_INSTALL_RELAY_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/execution/install/package_index.h"
#include "core/lifecycle/provider.h"

namespace berth::install {

// One install. Lives on the event loop; what is under way when it is destroyed ends by itself.
class Relay : public OutputSink, public InputSource {
 public:
  // `said` takes what pip prints; `on_progress` (may be empty) a line for people. Neither is called
  // after close().
  Relay(std::shared_ptr<const PackageIndex> index, OutputSink& said,
        std::function<void(std::string_view)> on_progress);
  ~Relay() override;
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Starts answering; requests are worked on from the executor of the caller's coroutine.
  Task<void> open();
  // The installer has ended, or nobody wants it any more.
  void close();

  // How the installer is told of its indexes: "relay:INDEXES:LINKS".
  std::string installer_argument() const;
  // What went wrong with the index, a sentence each; bounded.
  const std::vector<std::string>& problems() const;

  Flow write(Stream stream, std::string_view bytes) override;
  void on_resume(std::function<void()> resume) override;
  State read(std::string& into, std::size_t bytes_max) override;
  void on_ready(std::function<void()> ready) override;

  class Work;

 private:
  std::shared_ptr<Work> work_;
};

}  // namespace berth::install

#endif  // BERTH_CORE_EXECUTION_INSTALL_RELAY_H_
