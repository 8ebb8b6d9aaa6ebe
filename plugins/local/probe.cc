#include "probe.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <sstream>

namespace berth::local {
namespace {

// Says one line per thing it finds: "name=detail", or "name=" when it is not there.
constexpr char kPythonQuestions[] = R"(
import importlib.metadata as metadata, importlib.util as util, glob, platform
print("python3=" + platform.python_version())
for name in ("matplotlib", "pandas", "numpy", "sympy", "yfinance"):
    found = util.find_spec(name) is not None
    try:
        version = metadata.version(name) if found else ""
    except metadata.PackageNotFoundError:
        version = "present"
    print(name + "=" + version)
fonts = glob.glob("/usr/share/fonts/**/*.[ot]t[fc]", recursive=True)
cjk = [f for f in fonts if "CJK" in f or "wqy" in f or "DroidSansFallback" in f]
print("fonts=" + (str(len(fonts)) + " files, with Chinese, Japanese and Korean" if cjk else ""))
)";

std::string kernel_name() {
  utsname name{};
  uname(&name);
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

std::string layer_detail(Layer layer, const Allocations& allocations) {
  switch (layer) {
    case Layer::kUser:
      return geteuid() == 0 ? "an identity of its own for every sandbox"
                            : "this user's identity in a namespace of its own";
    case Layer::kLandlock:
      return "ABI level " + std::to_string(allocations.layers().landlock_level);
    case Layer::kCgroup: return allocations.cgroups().describe();
    case Layer::kSeccomp: return "allow list for this architecture";
    case Layer::kNet: return "loopback alone";
    case Layer::kMount: return "read-only system, limited work folder, masked /proc";
    case Layer::kPid:
    case Layer::kIpc:
    case Layer::kUts:
    case Layer::kCgroupNamespace:
    case Layer::kTime: return "namespace";
    case Layer::kCapabilities: return "none, no new privileges";
    case Layer::kRlimit: return "set for every command";
    case Layer::kDescriptors: return "three streams and nothing else";
  }
  return "";
}

std::string layer_remedy(Layer layer) {
  std::string remedy;
  switch (layer) {
    case Layer::kUser:
      remedy = "allow unprivileged user namespaces (user.max_user_namespaces, and on some systems "
               "kernel.unprivileged_userns_clone or kernel.apparmor_restrict_unprivileged_userns)";
      break;
    case Layer::kCgroup:
      remedy = "delegate a control group with memory, pids and cpu to this user and name it in "
               "cgroupParent";
      break;
    case Layer::kLandlock: remedy = "boot with landlock in lsm= (kernel 5.13 or newer)"; break;
    default: remedy = "use a kernel built with this feature"; break;
  }
  if (acceptable_layer(layer_name(layer))) remedy += ", or name the layer in acceptMissingLayers";
  return remedy;
}

void add_layers(const Allocations& allocations, ProbeReport* report) {
  const LayerReport& layers = allocations.layers();
  for (std::uint32_t i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    ProbeItem item;
    item.name = layer_name(layer);
    item.ok = (layers.missing & bit(layer)) == 0;
    item.detail = item.ok ? layer_detail(layer, allocations) : layers.sentences[i];
    if (!item.ok) {
      item.remedy = layer_remedy(layer);
      if ((allocations.config().accepted_missing & bit(layer)) != 0) {
        item.detail += " (its absence is accepted by the configuration)";
      }
    }
    report->items.push_back(std::move(item));
  }
}

std::string ask(Sandbox& sandbox, std::vector<std::string_view> argv) {
  Command command;
  command.argv = std::move(argv);
  command.timeout = std::chrono::seconds(30);
  CapturePeer peer;
  const RunResult result = sandbox.run(peer, command);
  return result.cause == Cause::kExited && result.exit_code == 0 ? peer.text() : "";
}

ProbeItem package_item(const std::string& name, const std::string& version) {
  ProbeItem item;
  item.name = name;
  item.ok = !version.empty();
  item.detail = item.ok ? version : "not found";
  if (item.ok) return item;
  if (name == "yfinance") {
    item.detail = "not installed: programs that import it fail where no package index is reachable";
    item.remedy = "pip install yfinance into the system's Python, or configure a package index";
  } else if (name == "fonts") {
    item.detail = "no font for Chinese, Japanese or Korean: charts show boxes instead";
    item.remedy = "apt install fonts-noto-cjk";
  } else if (name == "python3") {
    item.remedy = "apt install python3";
  } else {
    item.remedy = "apt install python3-" + name;
  }
  return item;
}

void add_languages(Sandbox& sandbox, ProbeReport* report) {
  std::istringstream lines(ask(sandbox, {"/usr/bin/python3", "-c", kPythonQuestions}));
  std::string line;
  bool python = false;
  while (std::getline(lines, line)) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    python = true;
    report->items.push_back(package_item(line.substr(0, equals), line.substr(equals + 1)));
  }
  if (!python) report->items.push_back(package_item("python3", ""));
  std::string node = ask(sandbox, {"/usr/bin/node", "--version"});
  while (!node.empty() && node.back() == '\n') node.pop_back();
  ProbeItem item{"node", !node.empty(), node.empty() ? "not found" : node,
                 node.empty() ? "apt install nodejs" : ""};
  report->items.push_back(std::move(item));
}

}  // namespace

ProbeReport probe_machine(Allocations& allocations) {
  ProbeReport report;
  report.backend = kernel_name();
  add_layers(allocations, &report);
  const std::string name = std::string(kTrialPrefix) + random_hex(8);
  ProbeItem trial{"sandbox", false, "", ""};
  try {
    const auto sandbox = allocations.create(name, CreateSpec{});
    add_languages(*sandbox, &report);
    allocations.destroy(name, std::chrono::seconds(10));
    trial.ok = report.usable = true;
    trial.detail = "a trial sandbox was made, ran and is gone";
  } catch (const Failure& failure) {
    trial.detail = failure.message();
    trial.remedy = "see the layers above";
  }
  report.items.push_back(std::move(trial));
  return report;
}

}  // namespace berth::local
