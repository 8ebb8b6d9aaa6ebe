// Output on its way to people: decoded as it comes, kept within bounds.
#ifndef BERTH_CORE_EXECUTION_OUTPUT_H_
#define BERTH_CORE_EXECUTION_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/execution/execution.h"

namespace berth {

// Cuts a stream of bytes into pieces that end between characters. One stream; one thread.
class CharacterCutter {
 public:
  // The bytes that are now complete: everything but an unfinished character at the end, which waits
  // for its rest. Valid until the next call.
  std::string_view take(std::string_view bytes);
  // What is left when no more will come: at most three bytes.
  std::string_view finish();

 private:
  std::string pending_;
  std::string ready_;
};

// The first and the last half of `keep_bytes` of a stream, and exact counts of the rest. Memory is
// bounded by about one and a half times `keep_bytes`.
class KeptOutput {
 public:
  explicit KeptOutput(std::uint64_t keep_bytes);

  void append(std::string_view bytes);
  std::uint64_t bytes() const { return bytes_; }
  bool ends_line() const { return bytes_ == 0 || last_ == '\n'; }
  OutputText text() const;

 private:
  std::string_view kept_tail() const;

  std::size_t half_;
  std::uint64_t bytes_ = 0;
  char last_ = '\n';
  std::string head_;
  std::string tail_;  // may be longer than half_ between two trims
};

// At most `bytes_max` bytes of valid UTF-8 text: head and tail, with a line between that says how
// much is missing.
std::string abridge(std::string_view text, std::size_t bytes_max);

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_OUTPUT_H_
