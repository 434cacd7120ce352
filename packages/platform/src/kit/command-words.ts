/** One shell word: characters without meaning to a shell, and quoted text without expansions. */
const word = /(?:[\w@%+=:,./-]|'[^'\n]*'|"[^"$`\\!\n]*")+/y
const blank = /[ \t]*/y

const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh'])

/**
 * Returns the words of a command that is one plain program with arguments. An agent gives it as shell text or as a list
 * of words. Returns null if a shell would do more with it: for `;`, `|`, `&`, `$`, `*`, a newline, or any other
 * character not known to be harmless.
 */
export function commandWords(command: unknown): readonly string[] | null {
  if (typeof command === 'string') return wordsOf(command)
  if (!Array.isArray(command) || command.length === 0 || !command.every(item => typeof item === 'string')) return null
  const words: readonly string[] = command
  const [program = '', option, script, ...rest] = words
  if (!shells.has(program.slice(program.lastIndexOf('/') + 1))) return words
  return (option === '-c' || option === '-lc') && script !== undefined && rest.length === 0 ? wordsOf(script) : null
}

function wordsOf(text: string): readonly string[] | null {
  const words: string[] = []
  let at = 0
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? ''
    at += found.length
    return found
  }
  take(blank)
  while (at < text.length) {
    const found = take(word)
    if (found === '' || (take(blank) === '' && at < text.length)) return null
    words.push(found.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'))
  }
  return words.length === 0 ? null : words
}
