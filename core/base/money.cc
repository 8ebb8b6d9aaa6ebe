#include "core/base/money.h"

#include <fmt/format.h>

namespace berth {

std::string Money::to_string() const {
  const bool negative = micros_ < 0;
  const std::uint64_t magnitude =
      negative ? ~static_cast<std::uint64_t>(micros_) + 1 : static_cast<std::uint64_t>(micros_);
  std::string text = fmt::format("{}${}.{:06}", negative ? "-" : "", magnitude / 1'000'000,
                                 magnitude % 1'000'000);
  const std::size_t shortest = text.find('.') + 3;
  while (text.size() > shortest && text.back() == '0') text.pop_back();
  return text;
}

}  // namespace berth
