// LOAD: what becoming a part of a process does to it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "core/conformance/exercise.h"
#include "core/conformance/process_state.h"
#include "core/os/shared_library.h"

namespace berth::conformance {
namespace {

// What a process holds that a call without effects leaves as it is.
struct Holdings {
  std::size_t descriptors = open_descriptors().size();
  std::size_t threads = conformance::threads().size();
  std::size_t children = conformance::children().size();
};

std::string growth(const Holdings& before, const Holdings& after) {
  if (after.descriptors > before.descriptors)
    return fmt::format("{} descriptors stayed open", after.descriptors - before.descriptors);
  if (after.threads > before.threads)
    return fmt::format("{} threads were started", after.threads - before.threads);
  if (after.children > before.children)
    return fmt::format("{} processes were started", after.children - before.children);
  return {};
}

// Catches what is printed while it lives.
class Printing {
 public:
  Printing() : file_(::memfd_create("printed", MFD_CLOEXEC)), out_(::dup(1)), err_(::dup(2)) {
    std::fflush(nullptr);
    ::dup2(file_.get(), 1);
    ::dup2(file_.get(), 2);
  }
  ~Printing() { restore(); }
  // Bytes printed; the old descriptors are back.
  std::int64_t restore() {
    if (restored_) return size_;
    restored_ = true;
    std::fflush(nullptr);
    ::dup2(out_.get(), 1);
    ::dup2(err_.get(), 2);
    struct stat info {};
    size_ = ::fstat(file_.get(), &info) == 0 ? info.st_size : 0;
    return size_;
  }

 private:
  os::Fd file_;
  os::Fd out_;
  os::Fd err_;
  bool restored_ = false;
  std::int64_t size_ = 0;
};

Status entry_has_no_effects(Lab& lab) {
  auto library = os::SharedLibrary::load_descriptor(lab.subject().image.memory.get());
  if (!library) return violated(library.error().message());
  const auto entry =
      reinterpret_cast<berth_provider_entry_fn>(library->symbol(BERTH_ENTRY_SYMBOL));
  if (entry == nullptr) return violated("the entry is not there");
  berth_offer offer{};
  offer.struct_size = sizeof offer;
  offer.minor_min = offer.minor_max = 999;  // a host of the far future: the entry refuses it
  offer.host = &lab.bench().host().table();
  Printing printing;
  const Holdings before;
  berth_reply refused{};
  refused.struct_size = sizeof refused;
  if (entry(&offer, &refused) == 0)
    return violated("the entry accepts a host that speaks only minor 999");
  offer.minor_min = offer.minor_max = 0;
  // What it answers with would end with shutdown, which nobody asks of a provider that is not open: here, with the
  // process, and until then it is not lost.
  static berth_reply reply;
  reply = {};
  reply.struct_size = sizeof reply;
  const std::uint32_t answer = entry(&offer, &reply);
  const Holdings after;
  const std::int64_t printed = printing.restore();
  if (answer != 0) return violated("after a refusal the entry refuses a host that it accepts otherwise");
  if (const std::string grew = growth(before, after); !grew.empty())
    return violated("in the entry, " + grew);
  if (printed > 0) return violated(fmt::format("the entry prints {} bytes", printed));
  return {};
}

Status loading_runs_nothing(Lab& lab) {
  Printing printing;
  const Holdings before;
  auto library = os::SharedLibrary::load_descriptor(lab.subject().image.memory.get());
  const Holdings after;
  const std::int64_t printed = printing.restore();
  if (!library) return violated(library.error().message());
  if (const std::string grew = growth(before, after); !grew.empty())
    return violated("while it was loaded, " + grew);
  if (printed > 0) return violated(fmt::format("loading prints {} bytes", printed));
  // Code without an effect that can be seen is the loader's warning, no more: a language's own runtime has some.
  const Status found = loader_finds_nothing(lab);
  if (!found) return warned(found.error().message());
  return {};
}

Status leaves_the_process_alone(Lab& lab) {
  const ProcessState before = process_state();
  BERTH_CHECK_OK(lab.load());
  const ProcessState loaded = process_state();
  if (before != loaded) return violated("after loading, " + difference(before, loaded));
  BERTH_CHECK_OK(lab.open());
  const ProcessState opened = process_state();
  if (before != opened) return violated("after open, " + difference(before, opened));
  return {};
}

constexpr Case kLoadCases[] = {
    {"LOAD-001", "it-is-one-bounded-file", "LOAD-001", Profile::kSmoke, Start::kLoaded,
     "Reads the file whole", &loader_finds_nothing},
    {"LOAD-002", "it-is-a-shared-object-for-this-machine", "LOAD-002", Profile::kSmoke, Start::kLoaded,
     "Reads headers, segments and dynamic section", &loader_finds_nothing},
    {"LOAD-003", "it-is-hardened", "LOAD-003", Profile::kSmoke, Start::kLoaded,
     "Looks for text relocations, an executable stack, run paths, lazy binding and unmapping",
     &loader_finds_nothing},
    {"LOAD-004", "it-exports-one-name", "LOAD-004", Profile::kSmoke, Start::kLoaded,
     "Lists what it exports", &loader_finds_nothing},
    {"LOAD-005", "the-entry-has-no-effects", "LOAD-005", Profile::kSmoke, Start::kFile,
     "Calls the entry with an offer it must refuse and then with a good one; looks for descriptors, threads, "
     "processes and output", &entry_has_no_effects},
    {"LOAD-006", "loading-runs-no-code", "LOAD-006", Profile::kSmoke, Start::kFile,
     "Counts what runs while the library is loaded, and looks for descriptors, threads, processes and output",
     &loading_runs_nothing},
    {"LOAD-007", "loading-leaves-the-process-alone", "LOAD-007", Profile::kSmoke, Start::kFile,
     "Compares signals, mask, working directory, environment, locale, umask and limits before loading, after it "
     "and after open",
     &leaves_the_process_alone},
};

}  // namespace

CaseList load_cases() { return kLoadCases; }

}  // namespace berth::conformance
