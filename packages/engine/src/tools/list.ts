import { readdir } from 'node:fs/promises'
import { matchesGlob, resolve } from 'node:path'
import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { anyQuoted, quotedNote, shownPath } from './files/shown-path.ts'
import { textResult } from './text-result.ts'

const MAX_ENTRIES = 500
const slash = Buffer.from('/')
const unlisted: ReadonlySet<string> = new Set(['.git', 'node_modules'])

const Parameters = Type.Object({
  path: Type.Optional(Type.String({ description: 'Directory; by default the working directory' })),
  glob: Type.Optional(
    Type.String({ description: "Looks through all directories below for paths like this, such as '**/*.test.ts'" }),
  ),
})

/** Returns a tool that lists a directory or finds files by a glob. */
export function list(cwd: string) {
  return defineTool({
    name: 'list',
    label: 'list',
    description: `List a directory, or with \`glob\` find files below it. Directories end in /. At most ${MAX_ENTRIES} entries; .git and node_modules are not looked into.`,
    parameters: Parameters,
    async execute(_toolCallId, { path = '.', glob }, signal) {
      const root = resolve(cwd, path)
      const found: Buffer[] = []
      for await (const { path: entry, isDirectory } of walk(root, null, glob !== undefined)) {
        signal?.throwIfAborted()
        if (glob !== undefined && (isDirectory || !matchesGlob(entry.toString('utf8'), glob))) continue
        found.push(isDirectory ? Buffer.concat([entry, slash]) : entry)
        if (found.length > MAX_ENTRIES) break
      }
      if (found.length === 0) return textResult(glob === undefined ? 'The directory is empty.' : 'No files match.')
      const shown = found.slice(0, MAX_ENTRIES)
      const notes = [
        ...(found.length > MAX_ENTRIES ? [`[more than ${MAX_ENTRIES} entries; list more narrowly]`] : []),
        ...(anyQuoted(shown) ? [quotedNote] : []),
      ]
      return textResult([...shown.map(shownPath), ...notes].join('\n'))
    },
  })
}

/** Names are bytes, which need not be UTF-8. */
async function* walk(
  root: string,
  below: Buffer | null,
  deep: boolean,
): AsyncGenerator<{ path: Buffer; isDirectory: boolean }, void> {
  const directory = below === null ? root : Buffer.concat([Buffer.from(root), slash, below])
  const entries = await readdir(directory, { encoding: 'buffer', withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (below !== null) return []
      throw new Error(error.code === 'ENOENT' ? `There is no ${root}.` : `${root} cannot be listed: ${error.code}`)
    },
  )
  for (const entry of entries.toSorted((one, other) => Buffer.compare(one.name, other.name))) {
    const path = below === null ? entry.name : Buffer.concat([below, slash, entry.name])
    yield { path, isDirectory: entry.isDirectory() }
    if (deep && entry.isDirectory() && !unlisted.has(entry.name.toString())) yield* walk(root, path, deep)
  }
}
