// Money: a signed 64-bit count of micro-dollars (1 USD = 1 000 000). Exact; no rounding anywhere
// but in the ledger, which rounds debits up to the cent.
#ifndef BERTH_CORE_BASE_MONEY_H_
#define BERTH_CORE_BASE_MONEY_H_

#include <compare>
#include <cstdint>
#include <string>

namespace berth {

class Money {
 public:
  constexpr Money() = default;
  static constexpr Money micros(std::int64_t value) { return Money(value); }
  static constexpr Money cents(std::int64_t value) { return Money(value * 10'000); }

  constexpr std::int64_t micros() const { return micros_; }

  friend constexpr auto operator<=>(Money, Money) = default;
  friend constexpr Money operator+(Money a, Money b) { return Money(a.micros_ + b.micros_); }
  friend constexpr Money operator-(Money a, Money b) { return Money(a.micros_ - b.micros_); }
  friend constexpr Money operator-(Money a) { return Money(-a.micros_); }
  Money& operator+=(Money other) { micros_ += other.micros_; return *this; }

  // "$0.05", "-$1.234567": at least two decimals, no trailing zeros beyond them.
  std::string to_string() const;

 private:
  constexpr explicit Money(std::int64_t value) : micros_(value) {}
  std::int64_t micros_ = 0;
};

}  // namespace berth

#endif  // BERTH_CORE_BASE_MONEY_H_
