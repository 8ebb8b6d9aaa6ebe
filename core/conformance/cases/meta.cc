// META, NEG and TRUST: what is judged before anything runs.
#include <fmt/format.h>

#include <algorithm>

#include "core/conformance/exercise.h"
#include "core/os/shared_library.h"

namespace berth::conformance {
namespace {

Status probes_only_claims(Lab& lab) {
  for (int round = 0; round < 2; ++round) {
    const Answer<ProbeReport> probed = lab.probe();
    if (!probed.outcome.done()) return violated(describe("probe", probed.outcome));
    for (const CapabilityProbe& one : probed.value.capabilities) {
      const auto& claims = lab.manifest().capabilities;
      const bool claimed = std::any_of(claims.begin(), claims.end(), [&](const auto& claim) {
        return claim.id == one.id;
      });
      if (!claimed)
        return violated(fmt::format("probe reports {}, which the manifest does not claim", one.id));
    }
  }
  return {};
}

// A host of before ABI 1.0, which there never was: its table lacks the last function.
Status refuses_a_smaller_host(Lab& lab) {
  auto library = os::SharedLibrary::load_descriptor(lab.subject().image.memory.get());
  if (!library) return violated(library.error().message());
  const auto entry =
      reinterpret_cast<berth_provider_entry_fn>(library->symbol(BERTH_ENTRY_SYMBOL));
  if (entry == nullptr) return violated("the entry is not there");
  berth_host_v1 host = lab.bench().host().table();
  host.struct_size = offsetof(berth_host_v1, post_blocking);
  berth_offer offer{};
  offer.struct_size = sizeof offer;
  offer.host = &host;
  berth_reply reply{};
  reply.struct_size = sizeof reply;
  if (entry(&offer, &reply) == 0)
    return violated(fmt::format("the entry accepts a host's table of {} bytes; that of ABI 1.0 has {}",
                                host.struct_size, sizeof host));
  if (reply.refusal.len == 0) return violated("the entry refuses and does not say why");
  return {};
}

#define BERTH_LOADER_CASE(clause, slug, sentence) \
  Case { clause, slug, clause, Profile::kSmoke, Start::kLoaded, sentence, &loader_finds_nothing }

constexpr Case kMetaCases[] = {
    BERTH_LOADER_CASE("META-001", "both-notes-are-whole", "Reads both notes through the program headers"),
    BERTH_LOADER_CASE("META-002", "note-and-manifest-agree", "Compares the ABI note with the manifest"),
    BERTH_LOADER_CASE("META-003", "the-manifest-follows-the-schema", "Parses the manifest strictly"),
    BERTH_LOADER_CASE("META-004", "every-claim-has-its-table",
                      "Asks for the table of every extension the manifest lists"),
    BERTH_LOADER_CASE("META-005", "nothing-is-there-unclaimed",
                      "Asks for every known extension the manifest does not list, and expects none"),
    {"META-006", "probe-reports-only-claims", "META-006", Profile::kSmoke, Start::kOpen,
     "Compares what probe reports with what the manifest claims", &probes_only_claims},
    BERTH_LOADER_CASE("META-007", "the-kind-is-known", "Reads the manifest's kind"),
    BERTH_LOADER_CASE("META-008", "the-three-promises-are-made",
                      "Reads languages, cancellation and cleanup from the manifest"),
    BERTH_LOADER_CASE("NEG-001", "the-major-is-ours", "Compares the majors"),
    BERTH_LOADER_CASE("NEG-002", "the-minor-is-within-the-offer",
                      "Offers this host's minors and looks at the one that is chosen"),
    BERTH_LOADER_CASE("NEG-003", "no-unknown-host-extension-is-required",
                      "Compares the host extensions the manifest requires with those offered"),
    BERTH_LOADER_CASE("NEG-004", "every-slot-is-there",
                      "Looks at every slot of the table, fence together with recovery"),
    BERTH_LOADER_CASE("NEG-005", "sizes-and-reserved-fields-are-right",
                      "Looks at sizes and reserved fields of reply and table"),
    BERTH_LOADER_CASE("NEG-006", "table-and-slots-lie-in-the-library",
                      "Looks where the table and every slot lie"),
    {"NEG-007", "a-smaller-host-is-refused", "NEG-007", Profile::kSmoke, Start::kFile,
     "Offers a host's table without its last function, and expects a refusal with a reason",
     &refuses_a_smaller_host},
    BERTH_LOADER_CASE("TRUST-001", "the-file-is-the-locked-one",
                      "Compares the file's digest with the host's lock file"),
    BERTH_LOADER_CASE("TRUST-002", "the-file-is-signed-where-asked",
                      "Verifies the lock file's signature where the host's configuration asks for one"),
    BERTH_LOADER_CASE("TRUST-003", "the-file-is-not-in-quarantine",
                      "Looks whether this host has put the digest in quarantine"),
};

#undef BERTH_LOADER_CASE

}  // namespace

CaseList meta_cases() { return kMetaCases; }

}  // namespace berth::conformance
