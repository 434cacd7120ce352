import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CheckpointLimits, workspaceLimits } from '@berth/core/checkpoints/limits.ts'
import type { OverCap } from '@berth/core/checkpoints/over-cap.ts'
import { type RestoreOptions, restoreTree } from '@berth/core/checkpoints/restore-tree.ts'
import { type SealedTree, type SealOptions, sealTree } from '@berth/core/checkpoints/seal-tree.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { directoryTree, type TreePlace, type TreeTools } from '@berth/sandboxes/confined/directory-tree.ts'
import type { Tree } from '@berth/sandboxes/tree.ts'

const root = join(import.meta.dirname, '../../../..')
/** Outside every range from which a driver on this host takes its uids. */
const foreignUid = 190_017

/**
 * Owners of a test's trees: another user and our own namespace if the test runs as root, else only our own namespace.
 */
export const owners: readonly (number | undefined)[] = process.getuid?.() === 0 ? [foreignUid, undefined] : [undefined]

/** A temporary directory with a blob store, and functions to make, seal, restore and inspect trees in it. */
export class TreeLab implements Disposable {
  readonly dir: string
  readonly tools: TreeTools = {
    nodePath: process.execPath,
    programPath: join(root, 'packages/supervisor/dist/tree.cjs'),
  }
  readonly blobs: Blobs
  readonly uid: number | undefined

  private constructor(blobs: Blobs, dir: string, uid: number | undefined) {
    this.blobs = blobs
    this.dir = dir
    this.uid = uid
  }

  static async open(uid: number | undefined = owners[0]): Promise<TreeLab> {
    const dir = mkdtempSync(join(tmpdir(), 'berth-trees-'))
    return new TreeLab(await FileBlobs.open(join(dir, 'blobs')), dir, uid)
  }

  /** Builds the bundle from its current sources. */
  static build(): void {
    execFileSync(process.execPath, ['script/build.ts'], { cwd: root, stdio: 'ignore' })
  }

  path(name: string): string {
    return join(this.dir, name)
  }

  place(name: string): TreePlace {
    return { path: this.path(name), ...(this.uid !== undefined && { uid: this.uid }) }
  }

  /** Returns a directory as a tree; its baselines lie beside it. */
  tree(name: string, changes: { readonly baselines?: string; readonly programPath?: string } = {}): Tree {
    const { baselines = `${name}.baselines`, programPath = this.tools.programPath } = changes
    return directoryTree({ ...this.tools, programPath }, this.place(name), this.path(baselines))
  }

  /** Makes a tree from paths and entries; an object stands for a special file or link. */
  make(name: string, entries: Readonly<Record<string, Entry>>): string {
    const base = this.path(name)
    mkdirSync(base)
    for (const [path, entry] of Object.entries(entries))
      makeEntry(Buffer.from(base), Buffer.from(path, 'latin1'), entry)
    this.own(name)
    return base
  }

  /** Gives everything below a directory to the trees' owner. */
  own(name: string): void {
    // chown(1) can reach files whose path is longer than a system call takes.
    if (this.uid !== undefined) execFileSync('chown', ['-hR', `${this.uid}:${this.uid}`, this.path(name)])
  }

  seal(name: string, options: Partial<SealOptions> = {}): Promise<SealedTree | OverCap> {
    return sealTree({
      tree: this.tree(name),
      blobs: this.blobs,
      limits: workspaceLimits,
      ...options,
    })
  }

  /** Seals a tree that must fit its limits. */
  async sealed(name: string, options: Partial<SealOptions> = {}): Promise<SealedTree> {
    const result = await this.seal(name, options)
    if (result.kind !== 'sealed') throw new Error(`over the cap of ${result.cap}`)
    return result
  }

  async restore(manifest: Uint8Array, name: string, options: Partial<RestoreOptions> = {}) {
    if (options.tree === undefined) mkdirSync(this.path(name), { recursive: true })
    this.own(name)
    return restoreTree({
      tree: this.tree(name),
      manifest,
      blobs: this.blobs,
      limits: workspaceLimits,
      ...options,
    })
  }

  list(name: string): Record<string, string> {
    return listingOf(this.path(name))
  }

  [Symbol.dispose](): void {
    execFileSync('chmod', ['-R', 'u+rwX', this.dir])
    execFileSync('rm', ['-rf', this.dir])
  }
}

/** An entry that `TreeLab.make` puts at a path. */
export type Entry =
  | string
  | Buffer
  | { readonly link: string }
  | { readonly hardLink: string }
  | { readonly fifo: true }
  | { readonly directory: true; readonly mode?: number; readonly mtime?: number }
  | { readonly content: string | Buffer; readonly mode?: number; readonly mtime?: number }

function makeEntry(base: Buffer, path: Buffer, entry: Entry): void {
  const full = Buffer.concat([base, Buffer.from('/'), path])
  const slash = full.lastIndexOf(0x2f)
  if (slash > base.length) mkdirSync(full.subarray(0, slash), { recursive: true })
  if (typeof entry === 'string' || Buffer.isBuffer(entry)) writeFileSync(full, entry)
  else if ('link' in entry) symlinkSync(Buffer.from(entry.link, 'latin1'), full)
  else if ('hardLink' in entry) linkSync(Buffer.concat([base, Buffer.from(`/${entry.hardLink}`, 'latin1')]), full)
  else if ('fifo' in entry) execFileSync('mkfifo', [full.toString()])
  else makeFileOrDirectory(full, entry)
}

function makeFileOrDirectory(full: Buffer, entry: Exclude<Entry, string | Buffer> & { mode?: number; mtime?: number }) {
  if ('directory' in entry) mkdirSync(full, { recursive: true })
  else if ('content' in entry) writeFileSync(full, entry.content)
  if (entry.mtime !== undefined) utimesSync(full, entry.mtime, entry.mtime)
  if (entry.mode !== undefined) chmodSync(full, entry.mode)
}

/** Describes everything that a checkpoint keeps of a tree, by path, with one character per byte. */
export function listingOf(base: string): Record<string, string> {
  const found: Record<string, string> = {}
  const links = new Map<number, string>()
  const visit = (prefix: string) => {
    const names = readdirSync(Buffer.from(`${base}/${prefix}`, 'latin1'), { encoding: 'latin1' }).sort()
    for (const name of names) {
      const path = prefix + name
      const full = Buffer.from(`${base}/${path}`, 'latin1')
      const stats = lstatSync(full)
      // Round to microseconds, the precision that a seal keeps.
      const times = Math.round(Math.round(stats.mtimeMs * 1000) / 1000)
      const mode = (stats.mode & 0o777).toString(8)
      if (stats.isDirectory()) {
        found[path] = `directory ${mode} ${times}`
        visit(`${path}/`)
      } else if (stats.isSymbolicLink()) {
        found[path] = `link ${times} ${readlinkSync(full, { encoding: 'latin1' })}`
      } else if (stats.isFile()) {
        const first = stats.nlink > 1 ? links.get(stats.ino) : undefined
        links.set(stats.ino, path)
        const content = first === undefined ? createHash('sha256').update(readFileSync(full)).digest('hex') : first
        found[path] = `file ${mode} ${times} ${stats.size} ${content}`
      } else {
        found[path] = 'special'
      }
    }
  }
  visit('')
  return found
}

/** Returns small limits, with the given ones changed. */
export function limited(limits: Partial<CheckpointLimits>): CheckpointLimits {
  return { ...workspaceLimits, ...limits }
}
