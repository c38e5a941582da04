/**
 * `kinfold completion bash|zsh|fish`: a script for the shell, which asks `kinfold __complete` at
 * each Tab.
 *
 * What must stay true: the scripts know nothing of commands and flags, so they need not be made
 * anew with another version.
 *
 * Not here: what is offered (complete.ts), kubectl (main.ts, under the name
 * kubectl_complete-kinfold).
 */
import { Argument, type Command } from 'commander'

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('a script by which a shell completes commands, flags, kinds and clusters')
    .addArgument(new Argument('<shell>', 'whose script').choices(Object.keys(SCRIPTS)))
    .action((shell: keyof typeof SCRIPTS) => {
      process.stdout.write(SCRIPTS[shell])
    })
}

const BASH = String.raw`# bash completion of kinfold
_kinfold() {
  local answer line directive=4
  COMPREPLY=()
  answer=$("$1" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return 0
  while IFS= read -r line; do
    case $line in
      :*) directive=\${line#:} ;;
      ?*) COMPREPLY+=("\${line%%$'\t'*}") ;;
    esac
  done <<<"$answer"
  if ((directive & 2)); then compopt -o nospace; fi
  if ((directive == 0)); then compopt -o default; fi
}
complete -F _kinfold kinfold
`

const ZSH = String.raw`#compdef kinfold
# zsh completion of kinfold
_kinfold() {
  local line directive=4
  local -a values shown space flag
  if [[ $words[CURRENT] == --*=* ]]; then flag=(-P "\${words[CURRENT]%%=*}="); fi
  for line in "\${(@f)$("$words[1]" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :*) directive=\${line#:} ;;
      ?*)
        values+=("\${line%%$'\t'*}")
        shown+=("\${line/$'\t'/  -- }")
        ;;
    esac
  done
  if ((directive & 2)); then space=(-S ''); fi
  if ((directive == 0)); then
    _files
  elif ((#values)); then
    compadd -l -d shown $flag $space -- $values
  fi
}
if [[ $funcstack[1] == _kinfold ]]; then _kinfold; else compdef _kinfold kinfold; fi
`

const FISH = `# fish completion of kinfold
function __kinfold_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l word (commandline -ct)
    set -l flag (string match -r -- '^--[^=]*=' "$word")
    set -l answer ($program __complete $words "$word" 2>/dev/null)
    if test "$answer[-1]" = ':0'
        __fish_complete_path "$word"
    else
        for line in (string match -v ':*' -- $answer)
            echo -- $flag$line
        end
    end
end
complete -c kinfold -f -a '(__kinfold_complete)'
`

const SCRIPTS = { bash: plain(BASH), zsh: plain(ZSH), fish: FISH }

/** A template literal would take \${…} for its own. */
function plain(script: string): string {
  return script.replaceAll('\\${', '${')
}
