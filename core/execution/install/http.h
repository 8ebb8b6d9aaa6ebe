// The little of HTTP/1.1 that fetching a file needs: one request, one head, one body.
#ifndef BERTH_CORE_EXECUTION_INSTALL_HTTP_H_
#define BERTH_CORE_EXECUTION_INSTALL_HTTP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/execution/install/fetch.h"

namespace berth::install {

constexpr std::size_t kHeadBytesMax = std::size_t{64} << 10;

std::string request_text(const Url& url, std::string_view credentials);

// A response's head without its empty line. `chunked` says how the body comes.
Result<FetchHead> read_head(std::string_view text, bool& chunked);

// Takes the frames off a body in chunks, which may be cut anywhere.
class ChunkDecoder {
 public:
  // Appends what `bytes` carries to `out`. kCorrupt: these are no chunks.
  Status take(std::string_view bytes, std::string& out);
  bool ended() const { return state_ == State::kEnded; }

 private:
  enum class State { kSize, kData, kAfterData, kTrailer, kEnded };
  Status end_of_size_line();

  State state_ = State::kSize;
  std::string line_;
  std::uint64_t left_ = 0;
};

}  // namespace berth::install

#endif  // BERTH_CORE_EXECUTION_INSTALL_HTTP_H_
