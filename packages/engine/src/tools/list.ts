import { readdir } from 'node:fs/promises'
import { join, matchesGlob, resolve } from 'node:path'
import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { textResult } from './text-result.ts'

const MAX_ENTRIES = 500
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
      const found: string[] = []
      for await (const entry of walk(root, '', glob !== undefined)) {
        signal?.throwIfAborted()
        if (glob !== undefined && (entry.endsWith('/') || !matchesGlob(entry, glob))) continue
        found.push(entry)
        if (found.length > MAX_ENTRIES) break
      }
      if (found.length === 0) return textResult(glob === undefined ? 'The directory is empty.' : 'No files match.')
      const more = found.length > MAX_ENTRIES ? `\n[more than ${MAX_ENTRIES} entries; list more narrowly]` : ''
      return textResult(found.slice(0, MAX_ENTRIES).join('\n') + more)
    },
  })
}

async function* walk(root: string, below: string, deep: boolean): AsyncGenerator<string, void> {
  const entries = await readdir(join(root, below), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (below !== '') return []
    throw new Error(error.code === 'ENOENT' ? `There is no ${root}.` : `${root} cannot be listed: ${error.code}`)
  })
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    yield entry.isDirectory() ? `${path}/` : path
    if (deep && entry.isDirectory() && !unlisted.has(entry.name)) yield* walk(root, path, deep)
  }
}
