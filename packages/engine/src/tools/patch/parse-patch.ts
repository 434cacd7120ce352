/** Consecutive lines of a file: those that stay, those that go, and those that come. */
export interface Chunk {
  /** Lines before it, each further down than the one before. */
  readonly anchors: readonly string[]
  readonly lines: readonly { readonly kind: ' ' | '-' | '+'; readonly text: string }[]
  /** The chunk is the end of the file. */
  readonly atEnd: boolean
}

/** What a patch does to one file. */
export type FileChange =
  | { readonly kind: 'add'; readonly path: string; readonly text: string }
  | { readonly kind: 'delete'; readonly path: string }
  | { readonly kind: 'update'; readonly path: string; readonly to: string | null; readonly chunks: readonly Chunk[] }

const header = /^\*\*\* (Add|Delete|Update) File: (.+)$/

/**
 * Reads a patch in the form that OpenAI's models are trained on. Its first and its last line may be missing.
 * @throws Error that says which line is wrong
 */
export function parsePatch(input: string): FileChange[] {
  const lines = input.replaceAll('\r\n', '\n').trimEnd().split('\n')
  const changes: FileChange[] = []
  let at = lines.findIndex(line => line.trim() !== '')
  if (at === -1) throw new Error('The patch is empty.')
  if (lines[at]?.trim() === '*** Begin Patch') at += 1
  const end = lines.at(-1)?.trim() === '*** End Patch' ? lines.length - 1 : lines.length
  while (at < end) {
    const [, kind, path = ''] = header.exec(lines[at]?.trimEnd() ?? '') ?? []
    const wrong = `line ${at + 1} of the patch is no "*** Update File: <path>", "*** Add File: <path>" or "*** Delete File: <path>"`
    if (kind === undefined) throw new Error(`Nothing was changed: ${wrong}.`)
    const next = lines.findIndex((line, index) => index > at && header.test(line))
    const last = next === -1 || next > end ? end : next
    const body = lines.slice(at + 1, last)
    changes.push(changeOf(kind, path.trim(), body, at + 2))
    at = last
  }
  if (changes.length === 0) throw new Error('The patch is empty.')
  return changes
}

function changeOf(kind: string, path: string, body: readonly string[], first: number): FileChange {
  if (kind === 'Delete') return { kind: 'delete', path }
  if (kind === 'Add') {
    const text = body.map((line, index) => {
      if (line.startsWith('+')) return line.slice(1)
      throw new Error(`Nothing was changed: line ${first + index} of the patch, of a new file, does not begin with +.`)
    })
    return { kind: 'add', path, text: text.map(line => `${line}\n`).join('') }
  }
  const [, to = null] = /^\*\*\* Move to: (.+)$/.exec(body[0] ?? '') ?? []
  const chunks = chunksOf(to === null ? body : body.slice(1), to === null ? first : first + 1)
  if (chunks.length === 0 && to === null)
    throw new Error(`Nothing was changed: the patch says nothing to change in ${path}.`)
  return { kind: 'update', path, to: to?.trim() ?? null, chunks }
}

function chunksOf(body: readonly string[], first: number): Chunk[] {
  const chunks: { anchors: string[]; lines: { kind: ' ' | '-' | '+'; text: string }[]; atEnd: boolean }[] = []
  const fresh = () => {
    const chunk = { anchors: [], lines: [], atEnd: false }
    chunks.push(chunk)
    return chunk as (typeof chunks)[number]
  }
  let chunk: (typeof chunks)[number] | undefined
  for (const [index, line] of body.entries()) {
    const kind = line.charAt(0)
    if (line.startsWith('@@')) {
      if (chunk === undefined || chunk.lines.length > 0) chunk = fresh()
      const anchor = line.slice(2).trim()
      if (anchor !== '') chunk.anchors.push(anchor)
    } else if (line.trimEnd() === '*** End of File') {
      if (chunk !== undefined) chunk.atEnd = true
      chunk = undefined
    } else if (line === '' || kind === ' ' || kind === '-' || kind === '+') {
      chunk ??= fresh()
      chunk.lines.push({ kind: kind === '-' || kind === '+' ? kind : ' ', text: line.slice(1) })
    } else
      throw new Error(`Nothing was changed: line ${first + index} of the patch begins with none of space, +, - and @@.`)
  }
  return chunks.filter(({ lines }) => lines.length > 0)
}
