#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// Where input ends too early, the rest of the file is made up.
struct FillsUp : Twin {
  std::mutex mutex;
  std::map<berth_op, std::uint64_t> missing;
  void put_file(berth_op op, berth_str ref, const berth_put_file_spec* spec) override {
    {
      const std::lock_guard lock(mutex);
      missing[op] = spec->size_bytes;
    }
    Twin::put_file(op, ref, spec);
  }
  berth_input_status input(berth_op op, std::uint8_t* buffer, std::uint64_t capacity, std::uint64_t* got) override {
    const berth_input_status status = Twin::input(op, buffer, capacity, got);
    const std::lock_guard lock(mutex);
    const auto found = missing.find(op);
    if (found == missing.end()) return status;
    if (status == BERTH_INPUT_DATA) {
      found->second -= std::min(found->second, *got);
      return status;
    }
    if (status != BERTH_INPUT_END || found->second == 0) return status;
    *got = std::min(found->second, capacity);
    std::fill_n(buffer, *got, std::uint8_t{0});
    found->second -= *got;
    return BERTH_INPUT_DATA;
  }
};

struct SendsLargerOnes : Twin {
  berth_get_file_spec spec{};
  void get_file(berth_op op, berth_str ref, const berth_get_file_spec* from) override {
    spec = *from;
    if (spec.max_bytes == 99'999) spec.max_bytes = 1 << 20;
    Twin::get_file(op, ref, &spec);
  }
};

// Reads what a link leads to, wherever that is.
struct FollowsLinks : Twin {
  void get_file(berth_op op, berth_str ref, const berth_get_file_spec* spec) override {
    const std::string path = text(spec->path);
    struct stat info {};
    std::ifstream file(path, std::ios::binary);
    if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode) || !file) return Twin::get_file(op, ref, spec);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    Twin::output(op, BERTH_STREAM_FILE, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    berth_get_file_result result{sizeof result, 0644, bytes.size()};
    done(op, &result);
  }
};

struct WantsParents : Twin {
  void put_file(berth_op op, berth_str ref, const berth_put_file_spec* spec) override {
    const std::string path = text(spec->path);
    if (std::count(path.begin(), path.end(), '/') < 6) return Twin::put_file(op, ref, spec);
    ended(op, BERTH_REJECTED, BERTH_CODE_NOT_FOUND, "there is no such folder; make it first");
  }
};

// Tells the size in whole pieces.
struct RoundsSizes : Twin {
  Watched gets;
  void get_file(berth_op op, berth_str ref, const berth_get_file_spec* spec) override {
    gets.insert(op);
    Twin::get_file(op, ref, spec);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (!gets.erase(op) || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    berth_get_file_result result = *static_cast<const berth_get_file_result*>(outcome->result);
    if (result.size_bytes == 65'537) result.size_bytes = 65'536;
    berth_outcome changed = *outcome;
    changed.result = &result;
    Twin::op_complete(op, &changed);
  }
};

}  // namespace

const Faults& file_faults() {
  static const Faults* const all = new Faults{
      {"FILE-001", &make<FillsUp>},      {"FILE-002", &make<SendsLargerOnes>}, {"FILE-101", &make<FollowsLinks>},
      {"FILE-003", &make<WantsParents>}, {"FILE-004", &make<RoundsSizes>},
  };
  return *all;
}

}  // namespace berth::broken
