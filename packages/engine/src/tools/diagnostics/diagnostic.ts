import { relative, resolve } from 'node:path'

/** Something that is wrong at a place. */
export interface Diagnostic {
  /** Absolute. */
  readonly path: string
  readonly line: number
  readonly message: string
}

/** `a.ts(3,5): error …`, `a.py:3:5: …`, `vet: ./a.go:3:5: …`. */
const form = /^(?:vet: )?(\S.*?)(?:\((\d+),\d+\)|:(\d+)(?::\d+)?): (.+)$/
const MAX_LINE = 2000

/** Returns what a program reports in lines that begin with a place; warnings are left out. */
export function readDiagnostics(output: string, root: string): Diagnostic[] {
  return output.split('\n').flatMap(text => {
    const [, path, inParentheses, afterColon, message] = form.exec(text.slice(0, MAX_LINE)) ?? []
    if (path === undefined || message === undefined || /^warning\b/.test(message)) return []
    return [{ path: resolve(root, path), line: Number(inParentheses ?? afterColon), message }]
  })
}

/** Returns those that were not known before, wherever they stood: an edit moves the ones below it. */
export function newDiagnostics(found: readonly Diagnostic[], before: readonly Diagnostic[]): Diagnostic[] {
  const left = new Map<string, number>()
  for (const each of before) left.set(keyOf(each), (left.get(keyOf(each)) ?? 0) + 1)
  return found.filter(each => {
    const count = left.get(keyOf(each)) ?? 0
    left.set(keyOf(each), count - 1)
    return count <= 0
  })
}

const keyOf = ({ path, message }: Diagnostic) => `${path}\0${message}`

/** Lines of a file from `first` to `last` that were changed. */
export interface ChangedLines {
  readonly path: string
  readonly first: number
  readonly last: number
}

/** Returns the lines of a text that differ from the ones before. */
export function changedLines(path: string, before: string, after: string): ChangedLines {
  const [old, now] = [before.split('\n'), after.split('\n')]
  const most = Math.min(old.length, now.length)
  let head = 0
  while (head < most && old[head] === now[head]) head += 1
  let tail = 0
  while (tail < most - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1
  return { path, first: head + 1, last: now.length - tail }
}

/** Returns a diagnostic in one line, its path from the working directory. */
export const shownDiagnostic = ({ path, line, message }: Diagnostic, cwd: string): string =>
  `${relative(cwd, path)}:${line}: ${message.slice(0, 300).toWellFormed()}`
