// LineLimit: how many lines of a provider's are passed on, and the counting of those that are not.
#ifndef BERTH_CORE_PLUGIN_LINE_LIMIT_H_
#define BERTH_CORE_PLUGIN_LINE_LIMIT_H_

#include <cstdint>
#include <utility>

namespace berth::plugin {

// Not thread-safe.
class LineLimit {
 public:
  enum class Verdict {
    kPass,
    kDropAndSay,  // the first one too many: say that lines are dropped from here on
    kDrop,
  };

  explicit LineLimit(std::uint32_t per_second) : per_second_(per_second) {}

  // For a line of this second of any clock that does not go back.
  Verdict next(std::uint64_t second) {
    if (std::exchange(second_, second) != second) lines_ = 0;
    if (lines_ < per_second_) {
      ++lines_;
      return Verdict::kPass;
    }
    return ++dropped_ == 1 ? Verdict::kDropAndSay : Verdict::kDrop;
  }

  // How many were dropped since this was asked last.
  std::uint64_t take_dropped() { return std::exchange(dropped_, 0); }

  std::uint32_t per_second() const { return per_second_; }

 private:
  std::uint32_t per_second_;
  std::uint64_t second_ = 0;
  std::uint32_t lines_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_LINE_LIMIT_H_
