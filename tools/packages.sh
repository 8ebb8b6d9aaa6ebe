# Sourced by tools/run, tools/test and tools/bench/run: installs what tools/packages.txt lists. Works on Debian 12.
# Speaks on standard error only, since standard output belongs to the program that is run.
# The sourcing script sets `root`, the top of the source tree.
# shellcheck disable=SC2154

say() { printf '%s\n' "$*" >&2; }
die() { say "$1"; exit "${2:-1}"; }

# Prints the packages needed for a use (run, test, all or bench), without those whose command is there
# already.
packages_for() {
  local package command
  awk -v want="$1" '
    BEGIN { split("run test all", uses); for (i in uses) rank[uses[i]] = i; rank["bench"] = 1 }
    { sub(/#.*/, "") }
    NF { use = NF > 1 ? $2 : "test"
         if (use == "bench" ? want == use : rank[use] <= rank[want]) print $1, $3 }' \
    "$root/tools/packages.txt" |
    while read -r package command; do
      if [ -z "$command" ] || ! command -v "${command#or:}" >/dev/null; then
        printf '%s\n' "$package"
      fi
    done
}

# Prints those of its arguments that are not installed, one a line.
missing_packages() {
  local installed
  # dpkg-query fails when it has never heard of one of them; what it prints is right all the same.
  installed=$({ dpkg-query -W -f '${db:Status-Status} ${Package}\n' -- "$@" 2>/dev/null || true; } |
    sed -n 's/^installed //p')
  # Some packages of nodejs bring npm along and conflict with Debian's package of that name.
  if command -v npm >/dev/null; then installed+=$'\nnpm'; fi
  printf '%s\n' "$@" | grep -vxF -f <(printf '%s\n' "$installed") || true
}

# need_packages USE: names what is missing, installs it, or says exactly what a person has to do.
need_packages() {
  if [ "${BERTH_SKIP_PACKAGES:-}" = 1 ]; then return; fi
  local wanted missing
  mapfile -t wanted < <(packages_for "$1")
  if ! command -v dpkg-query >/dev/null; then
    say "this is not a Debian system; install the equivalents of these by hand:"
    say "  ${wanted[*]}"
    die "then set BERTH_SKIP_PACKAGES=1 and start again"
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  if [ "${#missing[@]}" -eq 0 ]; then return; fi
  say "missing Debian packages: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "not root and no sudo here; as root: apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing them with apt-get${as_root[0]:+ (sudo may ask for your password)}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends -- "${missing[@]}"; } </dev/null >"$log" 2>&1; then
    tail -n 25 "$log" >&2
    # shellcheck source=/dev/null
    say "the packages could not be installed; Berth is made for Debian 12 (here: $(. /etc/os-release 2>/dev/null; echo "${PRETTY_NAME:-unknown}"))"
    die "the whole output: $log"
  fi
  rm -f "$log"
}

# configure PRESET [CMAKE ARGUMENT ...]: once; afterwards the build itself reconfigures when a CMake file changes.
configure() {
  local folder="$root/build/$1"
  # What it was asked for last time lies beside what came of it: other options make it another build.
  if [ -f "$folder/build.ninja" ] && [ "$(cat "$folder/options" 2>/dev/null)" = "$*" ]; then return; fi
  mkdir -p "$folder"
  say "configuring build/$1"
  if ! (cd "$root" && cmake --preset "$@") </dev/null >"$folder/configure.log" 2>&1; then
    tail -n 40 "$folder/configure.log" >&2
    die "configuring failed; the whole output: $folder/configure.log"
  fi
  printf '%s' "$*" >"$folder/options"
}

# build PRESET [TARGET ...]: one moving line on a terminal, a line at every tenth elsewhere, the
# compiler's own words only when something fails.
build() {
  local preset=$1 folder="$root/build/$1" log="$root/build/$1/build.log"
  shift
  if ! NINJA_STATUS='[%f/%t] ' ninja -C "$folder" "$@" </dev/null 2>&1 | tee "$log" |
      show_progress "build/$preset"; then
    sed '/^\[[0-9]*\/[0-9]*\] /d' "$log" | sed -n 1,60p >&2
    die "building failed; the whole output: $log"
  fi
}

show_progress() {
  local line done_count total shown=-1 drawn=0
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]] || continue
    done_count=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    if [ -t 2 ]; then
      printf '\rbuilding %s: %d of %d \e[K' "$1" "$done_count" "$total" >&2
      drawn=1
    elif [ $((done_count * 10 / total)) -ne "$shown" ]; then
      shown=$((done_count * 10 / total))
      say "building $1: $done_count of $total"
    fi
  done
  if [ "$drawn" -eq 1 ]; then printf '\r\e[K' >&2; fi
}
