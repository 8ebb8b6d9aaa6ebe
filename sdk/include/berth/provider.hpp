// SPDX-License-Identifier: Apache-2.0
//
// Writing a provider in C++: derive from berth::Provider, say BERTH_PROVIDER(YourClass) in one
// source file, and build it with berth_add_provider(). docs/GUIDE.md goes through a whole one.
//
// Ownership: the SDK builds one object when the host opens the provider and destroys it after
// shutdown() returned. Arguments are views that live until the slot returns; results are copied.
//
// Threading: every slot runs on a thread the host lends, several at once, as many as the manifest's
// `concurrency` allows; guard what they share. open() runs before all others and shutdown() after
// them. A slot may wait as long as its operation lasts.
//
// Errors: throw berth::Failure with the class you can vouch for. Any other exception is passed on
// as "nothing was asserted", which the host treats as "a sandbox may exist".
#ifndef BERTH_PROVIDER_HPP
#define BERTH_PROVIDER_HPP

#include <cstdint>
#include <string_view>

#include "berth/abi.h"
#include "berth/detail/blocking_shell.hpp"
#include "berth/detail/entry.hpp"
#include "berth/host.hpp"
#include "berth/outcome.hpp"
#include "berth/values.hpp"

#if defined(BERTH_MANIFEST_HEADER)
#include BERTH_MANIFEST_HEADER
#endif

namespace berth {
inline namespace sdk_v1 {

class Provider {
 public:
  using BerthBase = Provider;
  template <class P, class Facts>
  using BerthShell = detail::BlockingShell<P, Facts>;

  Provider() = default;
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;
  virtual ~Provider() = default;

  // Acquires what the provider needs. A throw means that it is not used. [OPEN-001]
  virtual void open(Operation&, const OpenSpec&) {}

  // What works here, now. Says no with usable = false; it throws only when it cannot tell.
  virtual ProbeReport probe(Operation&) = 0;

  // Where sandboxes live: the fields of the manifest's scopeFields, in that order. [SCOPE-001]
  virtual Scope scope(Operation&) = 0;

  // Makes a sandbox under `name`; the same name never makes a second one. [KEY-001]
  virtual Created create(Operation&, std::string_view name, const CreateSpec&) = 0;

  // Whether a sandbox of this name exists, told from nothing but the name. [KEY-004]
  virtual Found lookup(Operation&, std::string_view name) = 0;

  // Makes sure that no create of this name can ever succeed. Override it exactly when the manifest
  // says recovery "fence". [FENCE-001]
  virtual Found fence(Operation&, std::string_view) { return {}; }

  // Runs a command; its output goes through operation.output(). A non-zero exit is a result, not a
  // failure. [RUN-001]
  virtual RunResult run(Operation&, std::string_view ref, const Command&) = 0;

  // Writes one whole file from operation.input(). berth/files_over_run.hpp has one over run().
  // [FILE-001]
  virtual void put_file(Operation&, std::string_view ref, const PutFile&) = 0;

  // Reads one whole regular file into operation.output(Stream::kFile, ...). [FILE-002]
  virtual GotFile get_file(Operation&, std::string_view ref, const GetFile&) = 0;

  // Ends a sandbox; `ref` may be empty. Returns only when it is established that it is gone, also
  // when there was none. [CLEAN-001]
  virtual Destroyed destroy(Operation&, std::string_view name, std::string_view ref) = 0;

  // Everything that carries this tag; the first cursor is empty. [CLEAN-005]
  virtual ListPage list_owned(Operation&, std::string_view owner_tag, std::string_view cursor) = 0;

  // Releases everything but the sandboxes. Runs when no other operation is open. [SHUT-001]
  virtual void shutdown(Operation&) {}

  // The table of an extension, or nullptr. Hide it with a static of the same name when the manifest
  // lists extensions; it may be asked before anything is open. [EXT-001]
  static const void* extension(std::string_view) { return nullptr; }

  void attach(const Host& host) { host_ = &host; }

 protected:
  // Valid from open() on; not in the constructor.
  const Host& host() const { return *host_; }

 private:
  const Host* host_ = nullptr;
};

// The entry of a provider class: what BERTH_PROVIDER exports, and what a unit test passes to
// berth::testing::FakeHost.
template <class P, class Facts = NoManifest>
std::uint32_t provider_entry(const berth_offer* offer, berth_reply* reply) {
  detail::check_against_manifest<P, Facts>();
  if constexpr (std::is_abstract_v<P>) {
    return 2;
  } else {
    return detail::enter<typename P::template BerthShell<P, Facts>, Facts>(offer, reply);
  }
}

}  // namespace sdk_v1
}  // namespace berth

#if defined(BERTH_MANIFEST_HEADER)
#define BERTH_MANIFEST_FACTS ::berth::manifest::Facts
#else
#define BERTH_MANIFEST_FACTS ::berth::NoManifest
#endif

// Exports the entry of `ProviderClass`. Once per provider, outside any namespace.
#define BERTH_PROVIDER(ProviderClass)                                                      \
  extern "C" __attribute__((visibility("default"))) std::uint32_t berth_provider_entry_v1( \
      const berth_offer* offer, berth_reply* reply) {                                      \
    return ::berth::provider_entry<ProviderClass, BERTH_MANIFEST_FACTS>(offer, reply);     \
  }                                                                                        \
  static_assert(true, "a semicolon follows BERTH_PROVIDER(...)")

#endif  // BERTH_PROVIDER_HPP
