import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { greetScript, testScript } from './sample-scripts.ts'

export const FILE = 'greet.sh'
export const CHECK = './test.sh'

/** In the order in which they are added; the test asks for the first. */
const languages = [
  ['Spanish', 'Hola'],
  ['French', 'Bonjour'],
  ['German', 'Hallo'],
  ['Italian', 'Ciao'],
  ['Dutch', 'Dag'],
  ['Swedish', 'Hej'],
  ['Hungarian', 'Szia'],
] as const

/** More than a thousand greetings. */
const MAX_BYTES = 100_000

/** A greeting beside the English one. */
interface Greeting {
  readonly name: string
  readonly option: string
  readonly word: string
}

/** The sample's program as it stands, and with one greeting more. */
interface Sample {
  readonly before: string
  readonly after: string
  readonly added: Greeting
}

/**
 * Reads the sample repository in a directory.
 * @returns null unless both files are regular, the test is the sample's and the program is one that the demonstration
 * writes: nobody else's work is ever overwritten
 */
export function readSample(directory: string): Sample | null {
  const before = contentOf(join(directory, FILE))
  if (before === undefined || contentOf(join(directory, CHECK)) !== testScript) return null
  const count = before.match(/^ {2}--/gm)?.length ?? 0
  if (before !== programOf(count)) return null
  return { before, after: programOf(count + 1), added: greetingOf(count) }
}

function contentOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isFile() === true && found.size <= MAX_BYTES ? readFileSync(path, 'utf8') : undefined
}

/** After the languages come numbers, so that every try has something to change. */
function greetingOf(index: number): Greeting {
  const [name, word] = languages[index] ?? [`Hello-${index}`, `Hello-${index}`]
  return { name, word, option: `--${name.toLowerCase()}` }
}

/** Returns the program with so many greetings beside the English one. */
function programOf(count: number): string {
  if (count === 0) return greetScript
  const cases = Array.from({ length: count }, (_, index) => {
    const { option, word } = greetingOf(index)
    return `  ${option}) shift; word=${word} ;;\n`
  })
  return `#!/bin/sh
case $1 in
${cases.join('')}  *) word=Hello ;;
esac
echo "$word, \${1:-world}"
`
}
