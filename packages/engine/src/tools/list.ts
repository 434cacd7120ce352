import { lstat, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { alternativesOf, fitsSome } from './files/fits-globs.ts'
import { anyQuoted, quotedNote, shownPath } from './files/shown-path.ts'
import { findExecutable } from './find-executable.ts'
import { runProgram } from './run-program.ts'
import { textResult } from './text-result.ts'

const MAX_ENTRIES = 500
/** Files that match of which the newest are sought. */
const MAX_MATCHES = 100_000
/** Bounds of fd, beyond which the directories are read here. */
const FD_BYTES = 64 * 1024 * 1024
const FD_MS = 30_000
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
    description: `List a directory, or with \`glob\` find files below it, the newest first. Directories end in /. At most ${MAX_ENTRIES} entries; .git and node_modules are not looked into.`,
    parameters: Parameters,
    async execute(_toolCallId, { path = '.', glob }, signal) {
      const root = resolve(cwd, path)
      const found =
        glob === undefined ? await entriesOf(root) : await newestFirst(root, await filesLike(root, glob, signal))
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

async function entriesOf(root: string): Promise<Buffer[]> {
  const found: Buffer[] = []
  for await (const { path, isDirectory } of walk(root, null, false)) {
    found.push(isDirectory ? Buffer.concat([path, slash]) : path)
    if (found.length > MAX_ENTRIES) break
  }
  return found
}

async function filesLike(root: string, glob: string, signal: AbortSignal | undefined): Promise<Buffer[]> {
  const found: Buffer[] = []
  const globs = alternativesOf(glob)
  if (globs === null) throw new Error('The glob stands for too many others: write fewer braces, or call list for each.')
  for await (const path of (await filesByFd(root, signal)) ?? filesBelow(root)) {
    signal?.throwIfAborted()
    if (fitsSome(path.toString('utf8'), globs)) found.push(path)
    if (found.length === MAX_MATCHES) break
  }
  return found
}

async function newestFirst(root: string, paths: readonly Buffer[]): Promise<Buffer[]> {
  const all = paths.map(async path => {
    const { mtimeMs } = await lstat(Buffer.concat([Buffer.from(root), slash, path])).catch(() => ({ mtimeMs: 0 }))
    return { path, mtimeMs }
  })
  const byAge = (await Promise.all(all)).toSorted(
    (one, other) => other.mtimeMs - one.mtimeMs || Buffer.compare(one.path, other.path),
  )
  return byAge.map(({ path }) => path)
}

/** Returns the files below a directory by the sandbox's fd, which reads directories side by side; null if it fails. */
async function filesByFd(root: string, signal: AbortSignal | undefined): Promise<Buffer[] | null> {
  const fd = findExecutable('fdfind', 'fd')
  if (fd === undefined) return null
  const options = ['--hidden', '--no-ignore', '--color', 'never', '--print0']
  const kinds = ['f', 'l', 's', 'p'].flatMap(kind => ['--type', kind])
  const left = [...unlisted].flatMap(name => ['--exclude', `${name}/`])
  const { exitCode, output, truncated, timedOut } = await runProgram([fd, ...options, ...kinds, ...left, ''], {
    ...{ cwd: root, signal, timeoutMs: FD_MS, maxBytes: FD_BYTES },
  }).catch(() => ({ exitCode: 1, output: Buffer.of(), truncated: false, timedOut: false }))
  if (exitCode !== 0 || truncated || timedOut) return null
  const names = output.toString('latin1').split('\0').slice(0, -1)
  return names.map(name => Buffer.from(name.replace(/^\.\//, ''), 'latin1'))
}

async function* filesBelow(root: string): AsyncGenerator<Buffer, void> {
  for await (const { path, isDirectory } of walk(root, null, true)) if (!isDirectory) yield path
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
