import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { pinnedCommits, takePack } from '@berth/core/git/pack-transfer.ts'
import { HostCache } from '@berth/platform/storage/host-cache.ts'
import { type ObjectsOf, objectsDirectory } from '@berth/sandboxes/confined/objects-directory.ts'
import { takeDirectory } from '@berth/sandboxes/remote/directory-stream.ts'
import type { HostContent } from '@berth/sandboxes/remote/host-calls.ts'

/** Bounds of one extension, unpacked. */
const CONTENT = { bytes: 512 * 1024 ** 2, entries: 20_000 }

export interface HostContentOptions {
  readonly dataDir: string
  /** The directory of the objects of a mirror; `objectsAt(dataDir)` if absent. */
  readonly objects?: ObjectsOf
  /** Of all extensions together. */
  readonly contentBytes: number
  /** The contents that sandboxes of this host see. */
  inUse(): ReadonlySet<string>
  runtime: HostContent['runtime']
  installed: HostContent['installed']
}

/** Returns the directory of the objects of a mirror on this host. */
export const objectsAt = (dataDir: string) => (id: string) => join(dataDir, 'mirrors', `${id}.git`, 'objects')

/** What a host keeps of what it was sent: extensions by digest, and mirrors of repositories that grow by packs. */
export function openHostContent({
  dataDir,
  objects: objectsOf = objectsAt(dataDir),
  contentBytes,
  inUse,
  runtime,
  installed,
}: HostContentOptions): HostContent {
  const cache = new HostCache(join(dataDir, 'contents'), { bytes: contentBytes, inUse: async () => inUse() })
  /** The last pack under way, by mirror: two that write one ref would refuse each other. */
  const packs = new Map<string, Promise<unknown>>()
  const gitDirOf = (objects: string) => join(objectsDirectory(objectsOf, objects), '..')
  return {
    runtime,
    installed,
    find: content => cache.find(content),
    async take(content: string, from: Duplex, signal: AbortSignal) {
      const write = (directory: string) => takeDirectory(from, directory, CONTENT, signal)
      await cache.provide(content, CONTENT.bytes, write, signal)
    },
    commits: objects => pinnedCommits(gitDirOf(objects)),
    async takePack(objects, commits, from, signal) {
      const before = packs.get(objects)
      const turn = (async () => {
        await before?.catch(() => undefined)
        const gitDir = gitDirOf(objects)
        const held = new Set(await pinnedCommits(gitDir))
        const missing = commits.filter(oid => !held.has(oid))
        if (missing.length > 0) await takePack(gitDir, missing, from, signal)
      })()
      packs.set(objects, turn)
      try {
        await turn
      } finally {
        if (packs.get(objects) === turn) packs.delete(objects)
      }
    },
  }
}
