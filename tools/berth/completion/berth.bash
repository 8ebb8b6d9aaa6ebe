# Completion of berth for bash. What can follow is what `--help` of the words so far lists, so that this
# file knows no command and no option by name.
# shellcheck shell=bash
_berth() {
  local current=${COMP_WORDS[COMP_CWORD]} word commands=() help
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == [a-z]* && ${#commands[@]} -lt 2 ]]; then commands+=("$word"); fi
  done
  # A word that is no command, such as a file, makes the longer line fail; the shorter one then knows.
  while ! help=$(berth "${commands[@]}" --help 2>/dev/null) && [ "${#commands[@]}" -gt 0 ]; do
    unset "commands[-1]"
  done
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE '^  (-h, *)?--[a-z-]+' <<<"$help" | grep -oE '[-]-[a-z-]+')" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\+\) .*/\1/p' <<<"$help")" -- "$current")
  fi
}
complete -o default -F _berth berth
