import { nearestText } from '../files/nearest-text.ts'
import type { Chunk } from './parse-patch.ts'

/** Ever looser forms in which lines are compared, as models mix up white space and typographic signs. */
const forms: readonly ((line: string) => string)[] = [
  line => line,
  line => line.trimEnd(),
  line => line.trim(),
  line =>
    line
      .trim()
      .normalize('NFKD')
      .replaceAll(/[\u2018-\u201b]/g, "'")
      .replaceAll(/[\u201c-\u201f]/g, '"')
      .replaceAll(/[\u2010-\u2015\u2212]/g, '-'),
]

interface Line {
  readonly text: string
  readonly end: string
}

/**
 * Returns a text with the chunks of a patch applied, in order. Lines that stay keep their bytes, and new ones get the line
 * ends of those around them.
 * @throws Error if a chunk's lines are not there, with the text that is nearest to them
 */
export function applyChunks(text: string, chunks: readonly Chunk[]): string {
  const lines = linesOf(text)
  const result: Line[] = []
  let done = 0
  for (const { anchors, lines: wanted, atEnd } of chunks) {
    let from = done
    for (const anchor of anchors) {
      const at = find(lines, [anchor], from)
      if (at === -1) throw new Error(`the line "${anchor}" of an @@ is not there.${nearestText(text, anchor)}`)
      from = at + 1
    }
    const old = wanted.filter(({ kind }) => kind !== '+').map(line => line.text)
    const start = placeOf(lines, old, from, atEnd)
    if (start === -1) {
      const where = done === 0 && anchors.length === 0 ? '' : ' below the lines that come before them'
      throw new Error(
        `these lines are not there${where}:\n${old.join('\n')}\n${nearestText(text, old.join('\n')).trim()}`,
      )
    }
    result.push(...lines.slice(done, start))
    let at = start
    for (const { kind, text: added } of wanted) {
      const actual = lines[at]
      if (kind === '+') result.push({ text: added, end: (actual ?? lines[at - 1])?.end || endOf(lines) })
      else {
        if (kind === ' ' && actual !== undefined) result.push(actual)
        at += 1
      }
    }
    done = at
  }
  result.push(...lines.slice(done))
  const isOpen = lines.at(-1)?.end === ''
  const last = result.length - 1
  return result.map(({ text: line, end }, n) => line + (n === last && isOpen ? '' : end || endOf(lines))).join('')
}

function placeOf(lines: readonly Line[], old: readonly string[], from: number, atEnd: boolean): number {
  if (old.length === 0) return atEnd || from === 0 ? lines.length : from
  const last = atEnd ? find(lines, old, lines.length - old.length) : -1
  if (last !== -1) return last
  const found = find(lines, old, from)
  // Models write an empty line behind the last of a chunk.
  return found === -1 && old.at(-1) === '' ? find(lines, old.slice(0, -1), from) : found
}

function find(lines: readonly Line[], sought: readonly string[], from: number): number {
  for (const form of forms) {
    const wanted = sought.map(form)
    for (let at = Math.max(0, from); at + wanted.length <= lines.length; at += 1) {
      if (wanted.every((text, index) => form(lines[at + index]?.text ?? '') === text)) return at
    }
  }
  return -1
}

function linesOf(text: string): Line[] {
  const lines = [...text.matchAll(/([^\r\n]*)(\r\n|\r|\n|$)/g)].map(([, line = '', end = '']) => ({ text: line, end }))
  while (lines.length > 0 && lines.at(-1)?.text === '' && lines.at(-1)?.end === '') lines.pop()
  return lines
}

const endOf = (lines: readonly Line[]): string => lines.find(({ end }) => end !== '')?.end ?? '\n'
