#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "core/registry/inspect.h"

namespace berth::registry {
namespace {

namespace json = boost::json;

json::array texts(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& text : list) out.emplace_back(text);
  return out;
}

json::object elf_json(const os::ElfFile& elf) {
  json::array notes;
  for (const os::ElfNote& note : elf.notes)
    notes.push_back(json::object{{"owner", note.owner}, {"type", note.type}});
  return {{"machine", os::elf_machine_name(elf.machine)},
          {"notes", std::move(notes)},
          {"exports", texts(elf.exports)},
          {"needed", texts(elf.needed)},
          {"runpath", elf.runpath},
          {"textRelocations", elf.text_relocations},
          {"executableStack", elf.executable_stack},
          {"noDelete", elf.no_delete},
          {"bindNow", elf.bind_now},
          {"initArrayBytes", elf.init_array_bytes}};
}

}  // namespace

json::value to_json(const Inspection& inspection) {
  json::object out{{"path", inspection.path.string()},
                   {"sizeBytes", inspection.size_bytes},
                   {"sha256", inspection.digest},
                   {"loadable", inspection.loadable()},
                   {"findings", to_json(inspection.findings)}};
  if (inspection.abi_note)
    out["abiNote"] = json::object{{"major", inspection.abi_note->major},
                                  {"minor", inspection.abi_note->minor},
                                  {"minorRequired", inspection.abi_note->minor_required}};
  if (inspection.elf) out["elf"] = elf_json(*inspection.elf);
  if (inspection.manifest) out["manifest"] = inspection.manifest->document;
  return out;
}

}  // namespace berth::registry
