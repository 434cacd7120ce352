import { chmod, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { emptyTreeOid } from '@berth/contract'
import { gitText, runGit } from './run-git.ts'
import { startGit } from './start-git.ts'

/** Below it, a bare repository has one ref for each commit, or tag, that it holds with everything that it reaches. */
export const pinnedBelow = 'refs/berth/base/'

const GIB = 1024 ** 3
const TRANSFER_MS = 20 * 60_000
const bounds = { memoryBytes: 2 * GIB, cpuSeconds: TRANSFER_MS / 1000, fileBytes: 64 * GIB }

/**
 * Returns the commits, or the empty tree, that a bare repository holds whole, and the tags if it was sent packs; none if there is no such
 * repository.
 */
export async function pinnedCommits(gitDir: string): Promise<readonly string[]> {
  const text = await gitText(['for-each-ref', '--format=%(refname)', pinnedBelow], { gitDir, exits: [0, 128] })
  return text.split('\n').flatMap(ref => (ref === '' ? [] : [ref.slice(pinnedBelow.length)]))
}

/**
 * Returns the commits that a mirror holds whole, and the annotated tags of their histories: a checkout names these, and
 * no commit leads to them.
 */
export async function pinnedObjects(gitDir: string): Promise<readonly string[]> {
  const pinned = await pinnedCommits(gitDir)
  const commits = pinned.filter(oid => oid !== emptyTreeOid)
  if (commits.length === 0) return pinned
  const args = [
    'for-each-ref',
    ...commits.map(oid => `--merged=${oid}`),
    '--format=%(objecttype) %(objectname)',
    'refs/tags',
  ]
  const tags = (await gitText(args, { gitDir })).split('\n').filter(line => line.startsWith('tag '))
  return [...pinned, ...new Set(tags.map(line => line.slice('tag '.length)))]
}

/**
 * Writes a pack with everything that some commits and tags reach and that the others do not.
 * @throws Error if git fails; the stream is then broken
 */
export async function writePack(
  gitDir: string,
  wanted: readonly string[],
  held: readonly string[],
  to: Duplex,
): Promise<void> {
  const args = [`--git-dir=${gitDir}`, 'pack-objects', '--revs', '--thin', '--stdout', '--quiet', '--delta-base-offset']
  const git = await startGit(args, { remote: undefined, env: undefined, bounds, hasInput: true })
  git.ended.catch(() => undefined)
  to.once('close', () => git.kill())
  try {
    git.stdin?.on('error', () => undefined).end([...wanted, ...held.map(oid => `^${oid}`), ''].join('\n'))
    await pipeline(git.stdout, to, { end: false })
    const { exitCode, stderr } = await git.ended
    if (exitCode !== 0) throw new Error(`git pack-objects failed (${exitCode}): ${stderr.trim()}`)
    to.end()
  } catch (error) {
    git.kill()
    to.destroy()
    throw error
  }
}

/**
 * Takes a pack into a bare repository, which is made if it is not there, and pins the commits and tags that it was made for.
 * Everybody may read the objects.
 */
export async function takePack(
  gitDir: string,
  commits: readonly string[],
  from: Duplex,
  signal: AbortSignal,
): Promise<void> {
  // A directory that is there already may be one that others look into.
  const made = await mkdir(dirname(gitDir), { recursive: true, mode: 0o700 })
  if (made !== undefined) await chmod(dirname(gitDir), 0o700)
  await runGit(['init', '--bare', '--quiet', '--template=', '--shared=0644', gitDir], { signal })
  const args = ['index-pack', '--stdin', '--fix-thin']
  // Whoever feeds git destroys what it reads, and the answer goes the other way of this stream.
  const input = Readable.from(from.iterator({ destroyOnReturn: false }), { objectMode: false })
  await runGit(args, { gitDir, input, bounds, signal, timeoutMs: TRANSFER_MS })
  const pins = commits.map(oid => `create ${pinnedBelow}${oid} ${oid}\n`)
  await runGit(['update-ref', '--stdin'], { gitDir, input: pins.join(''), signal })
}
