import { MAX_BYTES, MAX_ENTRIES, type PathRange, type Seen } from '@berth/core/checkpoints/inspect-tree.ts'
import { runGit } from '@berth/core/git/run-git.ts'
import type { InspectedEntry } from '@berth/supervisor/tree'

/** Where a sandbox has its repository, below the workspace. */
const PROJECT = 'project'

/** A commit in a bare repository. */
interface Base {
  readonly gitDir: string
  readonly oid: string
}

/**
 * Looks at one path of a workspace as it was before the agent began: the repository at its base, and nothing else.
 * Links are followed within the repository.
 * @throws GitError, or the signal's reason
 */
export async function inspectBase(base: Base, { path, offset, bytes }: PathRange, signal: AbortSignal): Promise<Seen> {
  if (path === '') return { found: 'directory', entries: [{ name: PROJECT, kind: 'directory' }], more: false }
  const [top, ...rest] = path.split('/')
  if (top !== PROJECT) return { found: 'nothing' }
  const object = await resolve(base, rest.join('/'), signal)
  if (object === 'elsewhere' || object === 'nothing') return { found: object }
  const { oid, type, sizeBytes } = object
  if (type === 'tree') return await list(base, oid, signal)
  if (type !== 'blob') return { found: 'special' }
  const content = await range(base, oid, { offset, bytes: Math.min(bytes, MAX_BYTES) }, signal)
  return { found: 'file', sizeBytes, content }
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

interface GitObject {
  readonly oid: string
  readonly type: string
  readonly sizeBytes: number
}

/** Resolves a path of the commit, with its links. A link out of it, or in a circle, leads elsewhere. */
async function resolve(
  { gitDir, oid }: Base,
  path: string,
  signal: AbortSignal,
): Promise<GitObject | 'nothing' | 'elsewhere'> {
  const input = Buffer.concat([latin1(path === '' ? `${oid}^{tree}` : `${oid}:${path}`), Buffer.of(0)])
  const args = ['cat-file', '--batch-check', '--follow-symlinks', '-z']
  const answer = String((await runGit(args, { gitDir, input, signal })).stdout)
  const [, found, type = '', size] = /^([0-9a-f]{40,64}) (\w+) (\d+)\n$/.exec(answer) ?? []
  if (found !== undefined) return { oid: found, type, sizeBytes: Number(size) }
  return /^(?:symlink|loop) \d+\n/.test(answer) ? 'elsewhere' : 'nothing'
}

async function list({ gitDir }: Base, tree: string, signal: AbortSignal): Promise<Seen> {
  const { stdout } = await runGit(['ls-tree', '-z', '--long', tree], { gitDir, signal })
  const lines = stdout.toString('latin1').split('\0').slice(0, -1)
  const rows = lines.slice(0, MAX_ENTRIES).map(line => {
    const [meta = '', name = ''] = [line.slice(0, line.indexOf('\t')), line.slice(line.indexOf('\t') + 1)]
    const [mode = '', type = '', oid = '', size] = meta.split(/ +/)
    return { mode, type, oid, sizeBytes: Number(size), name }
  })
  const targets = await linkTargets(
    gitDir,
    rows.filter(({ mode }) => mode === LINK).map(({ oid }) => oid),
    signal,
  )
  const entries = rows.map(({ mode, type, oid, sizeBytes, name }): InspectedEntry => {
    if (mode === LINK) return { name, kind: 'link', target: targets.get(oid) ?? '' }
    if (type === 'blob') return { name, kind: 'file', sizeBytes }
    // A submodule is a commit of another repository.
    return { name, kind: type === 'tree' ? 'directory' : 'special' }
  })
  return { found: 'directory', entries, more: lines.length > MAX_ENTRIES }
}

const LINK = '120000'

/** Returns the targets of links, by their objects. */
async function linkTargets(gitDir: string, oids: readonly string[], signal: AbortSignal): Promise<Map<string, string>> {
  const targets = new Map<string, string>()
  if (oids.length === 0) return targets
  const { stdout } = await runGit(['cat-file', '--batch'], { gitDir, input: `${oids.join('\n')}\n`, signal })
  for (let at = 0; at < stdout.length; ) {
    const end = stdout.indexOf(0x0a, at)
    const [oid = '', , size = '0'] = stdout.toString('latin1', at, end).split(' ')
    const from = end + 1
    targets.set(oid, stdout.toString('latin1', from, from + Number(size)))
    at = from + Number(size) + 1
  }
  return targets
}

/** Reads a range of a blob, keeping no more of it in memory. */
async function range(
  { gitDir }: Base,
  oid: string,
  { offset, bytes }: { readonly offset: number; readonly bytes: number },
  signal: AbortSignal,
): Promise<Buffer> {
  if (bytes === 0) return Buffer.alloc(0)
  const pieces: Buffer[] = []
  let position = 0
  await runGit(['cat-file', 'blob', oid], {
    gitDir,
    signal,
    take: piece => {
      const from = Math.max(0, offset - position)
      const to = Math.min(piece.length, offset + bytes - position)
      if (from < to) pieces.push(piece.subarray(from, to))
      position += piece.length
      return position >= offset + bytes
    },
  })
  return Buffer.concat(pieces)
}
