# What is done on the other side of the shell, for POSIX sh with Debian's coreutils and util-linux.
# Called as: sh -c SCRIPT berth FUNCTION FOLDER NAME ...; FOLDER has all sandboxes, NAME is one of them.
#
# A name is a folder while its sandbox lives, and an empty file once it was ended or fenced: one rename
# decides between them for ever. Exit codes: 0 done; 3 there is one; 4 there is none; anything else, that
# it went wrong or was not heard. What is in single quotes expands where it is run.
# shellcheck disable=SC2016

# create FOLDER NAME TAG ENVIRONMENT LIFETIME SCRIPT; the environment as shell words, the lifetime in seconds.
create() {
  umask 022; mkdir -p "$1" && cd "$1" || exit 9
  [ ! -d "$2" ] || exit 0
  new="$2.new.$$"; mkdir -p "$new/root" && cd "$new/root" || exit 9
  mkdir usr proc dev dev/shm etc etc/alternatives etc/fonts tmp work old && chmod 1777 tmp dev/shm
  for file in ld.so.cache matplotlibrc; do : > "etc/$file"; done
  for link in bin sbin lib lib64; do ln -s "usr/$link" "$link"; done
  for node in null zero full random urandom; do : > "dev/$node"; done
  ln -s /proc/self/fd dev/fd
  cd "$1" && printf %s "$3" > "$new/tag" && printf %s "$4" > "$new/env" || exit 9
  mv -T "$new" "$2" 2>/dev/null || { rm -rf "$new"; [ -d "$2" ] && exit 0; exit 4; }
  [ "$5" -eq 0 ] || setsid -f sh -c 'echo $$ > "$2/run.life"; sleep "$3"; exec sh -c "$4" berth destroy "$1" "$2"' \
    life "$1" "$2" "$5" "$6" </dev/null >/dev/null 2>&1
}

lookup() {
  [ -e "$1" ] || exit 4
  cd "$1" && ls >/dev/null || exit 9
  if [ -d "$2" ]; then exit 3; else exit 4; fi
}

fence() {
  mkdir -p "$1" && cd "$1" || exit 9
  (set -C; : > "$2") 2>/dev/null
  if [ -d "$2" ]; then exit 3; elif [ -f "$2" ]; then exit 4; else exit 9; fi
}

# run FOLDER NAME ID CWD VARIABLE=VALUE ... -- ARGV ...
# A process tree of its own that sees nothing of the machine but /usr with what goes with it, and no network.
# When its first process ends the kernel ends the rest; how the program ended goes where it cannot write.
run() {
  PATH=$PATH:/usr/sbin:/sbin; cd "$1/$2/root" || exit 4
  echo $$ > "../run.$3"; exec 3> "../end.$3"
  name=$2; cwd=$4; shift 4
  eval "set -- $(cat ../env) \"\$@\""
  exec unshare --map-root-user --mount --pid --net --ipc --uts --fork --kill-child sh -ec '
    mount --bind . . && cd "$PWD"
    mount --bind -o ro /usr usr
    for node in null zero full random urandom; do mount --bind "/dev/$node" "dev/$node"; done
    for file in alternatives fonts ld.so.cache matplotlibrc; do
      [ ! -e "/etc/$file" ] || mount --bind -o ro "/etc/$file" "etc/$file"
    done
    mount -t proc proc proc
    pivot_root . old && umount -l old
    exec /usr/bin/python3 -Ic "$@"' "$name" '
import os, subprocess, sys
cut = sys.argv.index("--")
env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/work", "LANG": "C.UTF-8"}
env.update(pair.split("=", 1) for pair in sys.argv[2:cut])
try:
    end = str(subprocess.call(sys.argv[cut + 1:], cwd=sys.argv[1], env=env))
except OSError as error:
    end = "no " + str(error)
os.write(3, end.encode())' "$cwd" "$@"
}

# ended FOLDER NAME ID: how a run ended: a code, a signal below zero, or "no" and why it did not start.
ended() { cd "$1/$2" && cat "end.$3" && rm -f "end.$3" "run.$3"; }

# end_process FILE NAME: kills the session, or at least the process, whose number is in the file, unless
# another one has it by now.
end_process() {
  read -r pid < "$1" && [ "$pid" != $$ ] && grep -qsF "$2" "/proc/$pid/cmdline" || return
  kill -KILL "-$pid" 2>/dev/null || kill -KILL "$pid"
}

stop() { end_process "$1/$2/run.$3" "$2"; }

destroy() {
  mkdir -p "$1" && cd "$1" || exit 9
  tries=0
  while [ $tries -lt 100 ]; do
    mv -T "$2" "$2.gone.$$" 2>/dev/null; (set -C; : > "$2") 2>/dev/null
    for file in "$2".gone.*/run.*; do end_process "$file" "$2"; done 2>/dev/null
    rm -rf "$2".gone.* 2>/dev/null
    [ -f "$2" ] && ! ls -d "$2".gone.* >/dev/null 2>&1 && exit 0
    tries=$((tries + 1)); sleep 0.1
  done
  exit 9
}

# list FOLDER TAG AFTER: names, a page of them; an empty line last says that there are more.
list() {
  [ -e "$1" ] || exit 0
  cd "$1" || exit 9
  LC_ALL=C; export LC_ALL; count=0
  for file in */tag; do
    name=${file%/tag}
    case $name in *.*|"*") continue ;; esac
    [ -z "$3" ] || [ "$name" \> "$3" ] || continue
    [ "$(cat "$file" 2>/dev/null)" = "$2" ] || continue
    [ $count -lt 32 ] || { echo; break; }
    echo "$name"; count=$((count + 1))
  done
}

said() { if [ -n "$2" ]; then echo "$1 yes $2"; else echo "$1 no"; fi; }

# probe: one line for each thing that is needed: its name, yes or no, what was found.
probe() {
  said shell "$(uname -sr)"
  said namespaces "$(unshare --map-root-user --mount --pid --net --ipc --uts --fork echo there 2>/dev/null)"
  said python3 "$(/usr/bin/python3 --version 2>/dev/null)"
  said node "$(PATH=/usr/local/bin:/usr/bin:/bin node --version 2>/dev/null)"
}

"$@"
