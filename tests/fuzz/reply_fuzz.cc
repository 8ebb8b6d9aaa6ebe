// A provider's answer, whatever its numbers say, becomes a reply whose value fits its slot.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/plugin/abi_reply.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

using namespace berth::plugin;

// Takes plain values off the input; zero once it is used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  template <class T>
  T next() {
    T value{};
    const std::size_t taken = std::min(sizeof value, size_);
    std::memcpy(&value, data_, taken);
    data_ += taken;
    size_ -= taken;
    return value;
  }
  // A text that lies within the input, or one that is wrong in a way the host can see.
  berth_str text() {
    const auto choice = next<std::uint8_t>();
    if (choice == 255) return {nullptr, 5};
    if (choice == 254) return {reinterpret_cast<const char*>(data_), 1u << 20};
    return {reinterpret_cast<const char*>(data_), std::min<std::uint64_t>(choice, size_)};
  }
  // A message is cut rather than refused, so that its length must be true.
  berth_str message() {
    const std::uint64_t wanted = next<std::uint8_t>();
    return {reinterpret_cast<const char*>(data_), std::min<std::uint64_t>(wanted, size_)};
  }
  std::uint32_t size_of(std::size_t real) {
    const auto choice = next<std::uint8_t>();
    return choice < 240 ? static_cast<std::uint32_t>(real) : next<std::uint32_t>() % 8;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

struct Results {
  berth_probe_result probe{};
  berth_scope_result scope{};
  berth_create_result create{};
  berth_lookup_result lookup{};
  berth_run_result run{};
  berth_get_file_result file{};
  berth_destroy_result destroy{};
  berth_list_result list{};
  berth_usage usage{};
  std::vector<berth_pair> pairs;
  std::vector<berth_listed> listed;
  std::vector<berth_capability> capabilities;
};

void fill(Bytes& in, Results& r) {
  for (std::uint8_t left = in.next<std::uint8_t>() % 20; left > 0; --left)
    r.pairs.push_back({in.text(), in.text()});
  for (std::uint8_t left = in.next<std::uint8_t>() % 8; left > 0; --left) {
    r.listed.push_back({in.size_of(sizeof(berth_listed)), in.next<std::uint8_t>() % 8u, in.text(), in.text(),
                        in.next<std::uint64_t>(), in.text()});
    r.capabilities.push_back({in.size_of(sizeof(berth_capability)), in.next<std::uint8_t>() % 3u, in.text(), in.message()});
  }
  const berth_pair_list pairs{r.pairs.data(), r.pairs.size()};
  r.usage = {in.size_of(sizeof r.usage), in.next<std::uint8_t>() % 2u, 1, in.next<std::uint64_t>(), 2, 3, 4, 5};
  r.probe = {in.size_of(sizeof r.probe), in.next<std::uint8_t>() % 3u, in.text(),
             r.capabilities.data(), r.capabilities.size(), nullptr, 0};
  r.scope = {in.size_of(sizeof r.scope), in.next<std::uint8_t>() % 2u, pairs};
  r.create = {in.size_of(sizeof r.create), 0, in.text(), in.text(), pairs};
  r.lookup = {in.size_of(sizeof r.lookup), in.next<std::uint8_t>() % 7u, in.next<std::uint8_t>() % 7u, 0,
              in.text(), in.text(), pairs, in.next<std::uint64_t>()};
  r.run = {in.size_of(sizeof r.run), in.next<std::uint8_t>() % 12u, in.next<std::int32_t>(),
           in.next<std::uint32_t>(), 1, 2, in.next<std::uint8_t>() % 2 ? &r.usage : nullptr};
  r.file = {in.size_of(sizeof r.file), 0644, in.next<std::uint64_t>()};
  r.destroy = {in.size_of(sizeof r.destroy), 0, &r.usage};
  r.list = {in.size_of(sizeof r.list), in.next<std::uint8_t>() % 3u, r.listed.data(), r.listed.size(), in.text()};
}

const void* result_for(const Results& r, Slot slot) {
  switch (slot) {
    case Slot::kProbe: return &r.probe;
    case Slot::kScope: return &r.scope;
    case Slot::kCreate: return &r.create;
    case Slot::kLookup:
    case Slot::kFence: return &r.lookup;
    case Slot::kRun: return &r.run;
    case Slot::kGetFile: return &r.file;
    case Slot::kDestroy: return &r.destroy;
    case Slot::kListOwned: return &r.list;
    case Slot::kOpen:
    case Slot::kPutFile:
    case Slot::kShutdown: return nullptr;
  }
  return nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  const auto slot = static_cast<Slot>(in.next<std::uint8_t>() % kSlotCount);
  berth_outcome outcome{};
  outcome.struct_size = in.size_of(sizeof outcome);
  outcome.outcome_class = in.next<std::uint8_t>() % 8u;
  outcome.code = in.next<std::uint8_t>() % 20u;
  outcome.reserved = in.next<std::uint8_t>() % 16 == 0 ? 1 : 0;
  outcome.retry_after_ms = in.next<std::uint64_t>();
  Results results;
  fill(in, results);
  outcome.message = in.message();
  outcome.stage = in.text();
  outcome.result = in.next<std::uint8_t>() % 16 == 0 ? nullptr : result_for(results, slot);
  std::vector<Violation> violations;
  Reply reply = take_reply(slot, &outcome, violations);
  FUZZ_CHECK(reply.outcome.done() || reply.value.index() == 0);
  FUZZ_CHECK(!reply.outcome.done() || outcome.outcome_class == BERTH_DONE);
  const Reply before = reply;
  std::vector<Violation> none;
  check_reply(slot, reply, none);
  FUZZ_CHECK(none.empty() && reply.outcome.outcome_class == before.outcome.outcome_class);
  return 0;
}
