// SPDX-License-Identifier: Apache-2.0
//
// The entry of a provider: answers the host's offer, and compares the class with its manifest while
// the compiler looks on.
#ifndef BERTH_DETAIL_ENTRY_HPP
#define BERTH_DETAIL_ENTRY_HPP

#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <string_view>
#include <type_traits>

#include "berth/abi.h"
#include "berth/detail/receive.hpp"
#include "berth/detail/table.hpp"

namespace berth {
inline namespace sdk_v1 {

// What the build writes from the manifest, for a provider that is compiled without one (in a unit
// test, say). The generated header defines a type with the same members.
struct NoManifest {
  static constexpr bool kKnown = false;
  static constexpr const char* kId = "provider";
  static constexpr unsigned kMinor = BERTH_ABI_MINOR;
  static constexpr unsigned kMinorRequired = 0;
  static constexpr bool kFences = false;
  static constexpr bool kCombinedStreams = false;
  static constexpr std::array<std::string_view, 0> kExtensions{};
  static constexpr std::array<std::string_view, 0> kHostExtensions{};
};

namespace detail {

// Shells live until the process ends: the host may hold `self` of a provider it never opened, and a
// closed one is used again. The list keeps them reachable.
template <class Shell>
class Shells {
 public:
  static Shell* acquire(const berth_host_v1* host) {
    const std::lock_guard lock(mutex_);
    Shell* shell = first_;
    while (shell != nullptr && !shell->vacant()) shell = shell->next;
    if (shell == nullptr) {
      shell = new (std::nothrow) Shell;
      if (shell == nullptr) return nullptr;
      shell->next = first_;
      first_ = shell;
    }
    shell->enter(host);
    return shell;
  }

 private:
  static inline constinit std::mutex mutex_;
  static inline constinit Shell* first_ = nullptr;
};

// Nothing when the offer can be accepted, else why not. Static text.
template <class Facts>
std::string_view refusal_of(const berth_offer& offer) {
  if (offer.minor_max < Facts::kMinorRequired) {
    return "this provider needs a newer minor of the ABI than the host speaks: upgrade the host "
           "[NEG-002]";
  }
  if (offer.minor_min > BERTH_ABI_MINOR) {
    return "the host no longer speaks the minor this provider was built with: rebuild it [NEG-002]";
  }
  if (offer.host == nullptr || offer.host->struct_size < sizeof(berth_host_v1)) {
    return "the host's table is missing or smaller than that of ABI 1.0 [NEG-007]";
  }
  for (const std::string_view wanted : Facts::kHostExtensions) {
    bool offered = false;
    for (std::uint64_t i = 0; i < offer.host_extensions.count; ++i) {
      offered = offered || view(offer.host_extensions.items[i]) == wanted;
    }
    if (!offered) return "the host does not offer an extension the manifest requires [NEG-003]";
  }
  return {};
}

template <class Shell, class Facts>
std::uint32_t enter(const berth_offer* offer_from_host, berth_reply* reply) {
  if (offer_from_host == nullptr || reply == nullptr || reply->struct_size < sizeof(berth_reply)) {
    return 2;  // there is nowhere to write the reason
  }
  const berth_offer offer = receive(offer_from_host);
  const auto refuse = [reply](std::string_view why) {
    reply->refusal = to_abi(why);
    return std::uint32_t{1};
  };
  if (const std::string_view why = refusal_of<Facts>(offer); !why.empty()) return refuse(why);
  Shell* shell = Shells<Shell>::acquire(offer.host);
  if (shell == nullptr) return refuse("no memory for the provider's state");
  reply->minor_chosen =
      offer.minor_max < BERTH_ABI_MINOR ? offer.minor_max : std::uint16_t{BERTH_ABI_MINOR};
  reply->self = shell;
  reply->provider = &Table<Shell>::kTable;
  return 0;
}

template <class P, class Facts>
constexpr void check_against_manifest() {
  using Base = typename P::BerthBase;
  constexpr bool kFences = !std::is_same_v<decltype(&P::fence), decltype(&Base::fence)>;
  constexpr bool kExtends = &P::extension != &Base::extension;
  static_assert(!std::is_abstract_v<P>,
                "this provider does not override every slot that berth::Provider leaves open: the "
                "compiler's notes name them, and sdk/docs/GUIDE.md shows one of each");
  static_assert(std::is_abstract_v<P> || std::is_default_constructible_v<P>,
                "a provider is built without arguments when the host opens it: give the class a "
                "default constructor and do the rest in open()");
  static_assert(
      !Facts::kKnown || kFences || !Facts::kFences,
      "the manifest says \"recovery\": \"fence\", but the class does not override fence(): "
      "override it, or say \"manual\"");
  static_assert(!Facts::kKnown || !kFences || Facts::kFences,
                "the class overrides fence(), but the manifest says \"recovery\": \"manual\": say "
                "\"fence\", or leave fence() out");
  static_assert(
      !Facts::kKnown || kExtends || Facts::kExtensions.size() == 0,
      "the manifest lists extensions, but the class has no static extension(): give it one "
      "that returns their tables, or take them out of the manifest");
  static_assert(
      !Facts::kKnown || !kExtends || Facts::kExtensions.size() != 0,
      "the class has a static extension(), but the manifest lists no extensions: list them, "
      "or no host will ask for one");
  static_assert(!Facts::kKnown || Facts::kMinor == BERTH_ABI_MINOR,
                "the manifest's abi.minor is not that of the berth/abi.h this is compiled with");
}

}  // namespace detail
}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_DETAIL_ENTRY_HPP
