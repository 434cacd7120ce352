/** A line of a diff, with its numbers before and after. */
export interface DiffLine {
  readonly kind: 'context' | 'added' | 'removed'
  readonly before: number | null
  readonly after: number | null
  readonly text: string
}

export interface Hunk {
  /** Context that git found around the change, such as the function's first line. */
  readonly heading: string
  readonly lines: readonly DiffLine[]
}

export interface FilePatch {
  readonly path: string
  readonly hunks: readonly Hunk[]
  /** Modes before and after, if git names them both. */
  readonly modes?: readonly [before: string, after: string]
  /** The ids of its contents before and after; two such pairs if its type changed, none if only its name or mode did. */
  readonly contents?: readonly string[]
}

interface Growing {
  path: string
  hunks: { heading: string; lines: DiffLine[] }[]
  modes?: [string, string]
  contents?: string[]
}

/**
 * Splits a unified diff into its files. It reads git's own format; an unknown line ends the hunk. A diff
 * that was cut in the middle gives its complete lines. A path whose type changed is one file, as it is in a review.
 */
export function parsePatch(patch: string): readonly FilePatch[] {
  const files: Growing[] = []
  let [before, after, leftBefore, leftAfter] = [0, 0, 0, 0]
  let header = ''
  for (const line of patch.split('\n')) {
    const file = files.at(-1)
    const hunk = file?.hunks.at(-1)
    if (hunk !== undefined && (leftBefore > 0 || leftAfter > 0)) {
      const text = line.slice(1)
      if (line.startsWith('+')) {
        hunk.lines.push({ kind: 'added', before: null, after: after++, text })
        leftAfter--
        continue
      }
      if (line.startsWith('-')) {
        hunk.lines.push({ kind: 'removed', before: before++, after: null, text })
        leftBefore--
        continue
      }
      if (line.startsWith(' ')) {
        hunk.lines.push({ kind: 'context', before: before++, after: after++, text })
        leftBefore--
        leftAfter--
        continue
      }
    }
    if (line.startsWith('diff --git ')) {
      if (line !== header) files.push({ path: pathOf(line), hunks: [] })
      header = line
    } else if (line.startsWith('+++ ') && line !== '+++ /dev/null' && file !== undefined)
      file.path = unquote(line.slice(4)).slice(2)
    else if (line.startsWith('--- ') && line !== '--- /dev/null' && file !== undefined)
      file.path = unquote(line.slice(4)).slice(2)
    const mode = /^(old|new|deleted file|new file) mode (\d+)$/.exec(line)
    if (mode !== null && file !== undefined) {
      const [was = '', is = ''] = file.modes ?? []
      file.modes = /^(old|deleted)/.test(line) ? [mode[2] ?? '', is] : [was, mode[2] ?? '']
    }
    const contents = /^index ([0-9a-f]+\.\.[0-9a-f]+)/.exec(line)?.[1]
    if (contents !== undefined && file !== undefined) file.contents = [...(file.contents ?? []), contents]
    // The heading is a line of the file: any text in it is no reason to drop the hunk.
    const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/s.exec(line)
    if (found === null) continue
    before = Number(found[1])
    after = Number(found[3])
    leftBefore = Number(found[2] ?? 1)
    leftAfter = Number(found[4] ?? 1)
    file?.hunks.push({ heading: found[5] ?? '', lines: [] })
  }
  return files
}

/** The paths of `diff --git a/x b/x` are equal unless the file was renamed, and then `+++` or a rename says so. */
function pathOf(line: string): string {
  const names = line.slice('diff --git '.length)
  const quoted = /"b\/((?:[^"\\]|\\.)*)"$/.exec(names)
  if (quoted !== null) return unquote(`"${quoted[1]}"`)
  return names.slice(names.lastIndexOf(' b/') + 3)
}

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
}

/** Git quotes paths with odd bytes as C strings; octal escapes are bytes of UTF-8. A tab ends a path with spaces. */
function unquote(path: string): string {
  const plain = path.replace(/\t$/, '')
  if (!plain.startsWith('"')) return plain
  const bytes: number[] = []
  const body = plain.slice(1, -1)
  for (const part of body.matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/g)) {
    if (part[1] !== undefined) bytes.push(Number.parseInt(part[1], 8))
    else bytes.push(...new TextEncoder().encode(part[2] === undefined ? part[3] : (escapes[part[2]] ?? part[2])))
  }
  return new TextDecoder().decode(new Uint8Array(bytes))
}
