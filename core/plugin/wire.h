// The wire between host and worker: frames over one stream socket.
//
// A frame is a 16-byte header (payload length u32, type u8, three zero bytes, operation u64) and its
// payload; integers are little-endian, texts and lists carry a u32 length. Neither side trusts the
// other: every length is checked against what is there and against a bound before it is used.
#ifndef BERTH_CORE_PLUGIN_WIRE_H_
#define BERTH_CORE_PLUGIN_WIRE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/result.h"
#include "core/plugin/abi_reply.h"
#include "core/plugin/request.h"
#include "core/registry/finding.h"

namespace berth::plugin {

inline constexpr std::size_t kFrameHeaderBytes = 16;
inline constexpr std::size_t kFramePayloadMax = std::size_t{24} << 20;
inline constexpr std::uint32_t kWireVersion = 1;

enum class FrameType : std::uint8_t {
  // host to worker
  kHello = 1,
  kStart,
  kCancel,
  kGrant,
  kLimit,
  kInput,
  // worker to host
  kStep,       // loading: what is about to run
  kLoaded,     // loading succeeded; findings that are warnings
  kRefused,    // loading failed; findings
  kStage,
  kOutput,
  kInputTaken,
  kCompleted,
  kLog,
  kViolation,
};
inline constexpr std::uint8_t kFrameTypeLast = static_cast<std::uint8_t>(FrameType::kViolation);

struct Frame {
  FrameType type = FrameType::kHello;
  OpId op = 0;
  std::string_view payload;  // into the buffer it was read from
};

// What the worker is told before it loads anything.
struct Hello {
  std::uint32_t version = kWireVersion;
  std::vector<std::string> extensions;
  std::vector<std::string> variables;
  bool fences = false;
  std::uint32_t concurrency = 1;
  std::string config_json;
};

class WireWriter {
 public:
  // Starts a frame; its length is filled in by take().
  WireWriter(FrameType type, OpId op);

  template <class T>
  void number(T value) {
    static_assert(std::is_integral_v<T>);
    const auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<char>(bits >> (8 * i) & 0xFF));
  }
  void text(std::string_view value);
  void texts(const std::vector<std::string>& list);
  void pairs(const std::vector<std::pair<std::string, std::string>>& list);
  void append(std::string_view raw) { bytes_.append(raw); }

  // The whole frame.
  std::string take();

 private:
  std::string bytes_;
};

// The header of a frame whose payload is sent from elsewhere.
std::array<char, kFrameHeaderBytes> frame_header(FrameType type, OpId op, std::size_t payload_bytes);

// Reads from a payload. The first thing that does not fit makes it bad for good; every later read
// gives zero or empty.
class WireReader {
 public:
  enum class Texts { kAny, kUtf8 };  // kUtf8: any other text spoils
  explicit WireReader(std::string_view bytes, Texts texts = Texts::kAny)
      : bytes_(bytes), texts_(texts) {}

  template <class T>
  T number() {
    static_assert(std::is_integral_v<T>);
    if (bytes_.size() < sizeof(T)) return spoil(), T{};
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bits |= std::uint64_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    bytes_.remove_prefix(sizeof(T));
    return static_cast<T>(bits);
  }
  bool flag();
  // An enum by its number, which is at most `last`.
  template <class E>
  E choice(E last) {
    const auto value = number<std::uint8_t>();
    if (value > static_cast<std::uint8_t>(last)) return spoil(), E{};
    return static_cast<E>(value);
  }
  std::string text(std::size_t bytes_max);
  std::vector<std::string> texts(std::size_t count_max, std::size_t bytes_max);
  std::vector<std::pair<std::string, std::string>> pairs(std::size_t count_max,
                                                         std::size_t bytes_max);
  // How many elements follow; none when the bytes left cannot hold that many.
  std::uint32_t count(std::size_t count_max, std::size_t element_bytes_min);
  std::string_view rest();

  bool good() const { return good_; }
  // Good, and nothing is left.
  bool finished() const { return good_ && bytes_.empty(); }
  void spoil();

 private:
  std::string_view bytes_;
  Texts texts_;
  bool good_ = true;
};

// The first frame of `bytes`: nothing when it is not all there yet, an error when it never will be.
// `used` is how many bytes it takes.
Result<std::optional<Frame>> next_frame(std::string_view bytes, std::size_t& used);

std::string encode_hello(const Hello& hello);
Result<Hello> decode_hello(std::string_view payload);

std::string encode_start(OpId op, const Request& request);
// The command's `input` is set to a marker that must not be followed when there is any.
Result<Request> decode_start(std::string_view payload);

std::string encode_reply(OpId op, Slot slot, const Reply& reply);
// Validated as take_reply validates: an answer that does not hold together is an error.
Result<Reply> decode_reply(Slot slot, std::string_view payload);

std::string encode_findings(FrameType type, const registry::Findings& findings);
Result<registry::Findings> decode_findings(std::string_view payload);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_WIRE_H_
