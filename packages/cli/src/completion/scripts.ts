import type { Candidate, CommandNode } from './command-tree.ts'

/** The shells that completions are made for. */
export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** Returns the script that completes `berth` in a shell. */
export function completionScript(shell: Shell, tree: readonly CommandNode[]): string {
  return { bash, zsh, fish }[shell](tree)
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const texts = (candidates: readonly Candidate[]): string => candidates.map(({ text }) => text).join(' ')

/** The paths with words below them, which tell a word of a command from an argument. */
const pathsOf = (tree: readonly CommandNode[]): string =>
  tree
    .filter(({ path }) => path !== '')
    .map(({ path }) => quoted(path))
    .join('|')

/** Lines of a `case` that finds the path; bash and zsh read it alike. */
const walk = (tree: readonly CommandNode[], typed: string) => `  for word in ${typed}; do
    case "$word" in -*) continue ;; esac
    case "\${at:+$at }$word" in ${pathsOf(tree)}) at="\${at:+$at }$word" ;; esac
  done`

function bash(tree: readonly CommandNode[]): string {
  const cases = tree.map(
    ({ path, children, options }) =>
      `    ${quoted(path)}) words=${quoted(texts(children))} options=${quoted(texts(options))} ;;`,
  )
  const values = tree.flatMap(({ path, choices }) =>
    choices.map(({ option, values }) => `    ${quoted(`${path} ${option}`)}) words=${quoted(values.join(' '))} ;;`),
  )
  return `# Completion of berth for bash: berth completion bash > ~/.local/share/bash-completion/completions/berth
_berth() {
  local word at='' words='' options='' current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
${walk(tree, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  case "$at $before" in
${values.join('\n')}
    *) case "$at" in
${cases.join('\n')}
    esac ;;
  esac
  case "$current" in -*) words=$options ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _berth berth
`
}

/** Returns a candidate as zsh describes it: the word, a colon, its description. */
const described = ({ text, does }: Candidate): string => quoted(`${text.replaceAll(':', '\\:')}:${does}`)

function zsh(tree: readonly CommandNode[]): string {
  const cases = tree.map(
    ({ path, children, options }) =>
      `    ${quoted(path)}) found=(${children.map(described).join(' ')}) options=(${options.map(described).join(' ')}) ;;`,
  )
  const values = tree.flatMap(({ path, choices }) =>
    choices.map(
      ({ option, values }) => `    ${quoted(`${path} ${option}`)}) found=(${values.map(quoted).join(' ')}) ;;`,
    ),
  )
  return `#compdef berth
# Completion of berth for zsh: berth completion zsh > "\${fpath[1]}/_berth"
_berth() {
  local word at='' before="\${words[CURRENT-1]}"
  local -a found options
${walk(tree, `"\${(@)words[2,CURRENT-1]}"`)}
  case "$at $before" in
${values.join('\n')}
    *) case "$at" in
${cases.join('\n')}
    esac ;;
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then _describe 'option' options
  elif (( \${#found} )); then _describe 'command' found
  else _files
  fi
}
# Autoloaded from fpath, this file is the function; sourced, it names which function completes.
if [[ "\${funcstack[1]}" == _berth ]]; then _berth "$@"; else compdef _berth berth; fi
`
}

function fish(tree: readonly CommandNode[]): string {
  const lines = tree.flatMap(({ path, children, options, choices, valued }) => {
    const complete = `complete -c berth -n ${quoted(`__berth_at ${quoted(path)}`)}`
    return [
      ...children.map(({ text, does }) => `${complete} -f -a ${quoted(text)} -d ${quoted(does)}`),
      ...options.map(({ text, does }) => {
        const values = choices.find(({ option }) => option === text)?.values
        const takes = values !== undefined ? ` -x -a ${quoted(values.join(' '))}` : valued.includes(text) ? ' -r' : ''
        return `${complete} -l ${text.slice(2)}${takes} -d ${quoted(does)}`
      }),
    ]
  })
  const paths = tree.filter(({ path }) => path !== '').map(({ path }) => quoted(path))
  return `# Completion of berth for fish: berth completion fish > ~/.config/fish/completions/berth.fish
function __berth_at
  set -l at
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; and continue
    contains -- (string join ' ' $at $word) ${paths.join(' ')}; and set -a at $word
  end
  set -l path (string join ' ' -- $at)
  test "$path" = "$argv[1]"
end
${lines.join('\n')}
`
}
