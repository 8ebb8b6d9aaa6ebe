// SPDX-License-Identifier: Apache-2.0
//
// An operation whose output stays with the provider: for commands that a slot runs for its own ends.
#ifndef BERTH_CAPTURED_OPERATION_HPP
#define BERTH_CAPTURED_OPERATION_HPP

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "berth/host.hpp"

namespace berth {
inline namespace sdk_v1 {

// The same operation with its output kept here, bounded, instead of sent to the host.
class CapturedOperation : public Operation {
 public:
  static constexpr std::size_t kBytesMax = 4096;

  explicit CapturedOperation(Operation& outer)
      : Operation(outer.host(), outer.id()), outer_(outer) {}

  Flow output(Stream stream, std::string_view bytes) override {
    std::string& text = stream == Stream::kStdout ? out : err;
    text.append(bytes.substr(0, kBytesMax - std::min(text.size(), kBytesMax)));
    return cancelled() ? Flow::kCancelled : Flow::kAccepted;
  }
  std::size_t input(std::span<char> buffer) override { return outer_.input(buffer); }

  std::string out;
  std::string err;

 private:
  Operation& outer_;
};

}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_CAPTURED_OPERATION_HPP
