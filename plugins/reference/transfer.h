// Moving bytes without blocking a slot: what can go at once goes at once, and only when the host
// says "wait" does a lent thread take over.
//
// Each transfer belongs to one operation and is used by one thread at a time.
#ifndef BERTH_PLUGINS_REFERENCE_TRANSFER_H_
#define BERTH_PLUGINS_REFERENCE_TRANSFER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "berth/abi.h"
#include "berth/host.hpp"
#include "berth/values.hpp"
#include "plugins/reference/files.h"
#include "plugins/reference/script.h"

namespace berth::reference {

enum class Progress { kMustWait, kOver };

// Calls `advance` until it is over, waiting between calls on a thread the host lends; then calls
// `then`.
void drive(const Host& host, berth_op op, std::function<Progress()> advance,
           std::function<void()> then);

// The scripted program of one `run`.
class Program {
 public:
  Program(const Host& host, berth_op op, const Rule& rule) : host_(host), op_(op), rule_(rule) {}

  Progress advance();
  RunResult result() const;

 private:
  // Sends the rest of one stream. Its bytes are counted whether they are sent or not.
  Progress advance(berth_stream stream, const std::vector<Text>& texts, std::uint64_t& produced);

  const Host& host_;
  berth_op op_;
  const Rule& rule_;
  std::size_t text_at_ = 0;         // which text of the current stream
  std::uint64_t sent_of_text_ = 0;  // bytes of it, repetitions included
  bool out_is_over_ = false;
  bool sending_ = true;  // false once the cap of the current stream is reached
  bool cancelled_ = false;
  std::uint64_t out_bytes_ = 0;
  std::uint64_t err_bytes_ = 0;
};

// The contents of one `put_file`.
class Upload {
 public:
  Upload(const Host& host, berth_op op) : host_(host), op_(op) {}

  // Throws berth::Failure when the file would be too large.
  void expect(const PutFile& spec);
  // Throws nothing: what went wrong is thrown by take().
  Progress advance();
  const std::string& path() const { return path_; }
  // The whole file, or berth::Failure: never a part of one.
  File take();

 private:
  const Host& host_;
  berth_op op_;
  std::string path_;
  std::uint64_t wanted_bytes_ = 0;
  bool cancelled_ = false;
  File file_;
};

// The contents of one `get_file`.
class Download {
 public:
  Download(const Host& host, berth_op op, std::uint64_t chunk_bytes)
      : host_(host), op_(op), chunk_bytes_(chunk_bytes) {}

  void carry(File file) { file_ = std::move(file); }
  Progress advance();
  GotFile result() const;

 private:
  const Host& host_;
  berth_op op_;
  std::uint64_t chunk_bytes_;
  File file_;
  std::uint64_t sent_ = 0;
  bool cancelled_ = false;
};

}  // namespace berth::reference

#endif  // BERTH_PLUGINS_REFERENCE_TRANSFER_H_
