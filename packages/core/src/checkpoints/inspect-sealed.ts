import { posix } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { type InspectedEntry, packBytes, segmentBytes } from '@berth/supervisor/tree'
import {
  CHUNK_BYTES,
  chunksAt,
  kinds,
  type RecordHead,
  readChunk,
  readHead,
  sizeAt,
} from '@berth/supervisor/tree/record'
import { unzstd } from '@berth/supervisor/tree/zstd'
import { MAX_BYTES, MAX_ENTRIES, type PathRange, type Seen } from './inspect-tree.ts'
import { type Manifest, ManifestError, type PackTable, parseManifest, readPackTable, sha256Of } from './manifest.ts'

/** Most links that one look follows. */
const LINKS = 8

/**
 * Looks at a sealed tree in the blob store, without a sandbox. It follows a link at the end of the path, within the tree.
 * @throws ManifestError, BlobMissing, BlobCorrupt if the checkpoint is damaged
 */
export async function inspectSealed(manifestBytes: Uint8Array, blobs: Blobs, range: PathRange): Promise<Seen> {
  const manifest = parseManifest(manifestBytes)
  let { path } = range
  for (let links = 0; links <= LINKS; links++) {
    const found = await find(manifest, blobs, path)
    if (found === null) return { found: 'nothing' }
    if ('entries' in found) return { found: 'directory', ...found }
    const { segment, head } = found
    if (head.kind === kinds.file) {
      const sizeBytes = sizeAt(segment, head.start)
      if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) throw new ManifestError('the index has a wrong size')
      const content = await readRange(segment, head, await readPackTable(manifest, blobs), blobs, range)
      return { found: 'file', sizeBytes, content }
    }
    const tail = segment.toString('latin1', head.tailAt, head.end)
    if (head.kind === kinds.hardLink) path = tail
    else if (head.kind === kinds.symlink) {
      const target = posix.join('/', posix.dirname(`/${path}`), tail)
      // A tree is shown at its own path in sandboxes, so an absolute target may lead into it or out; nobody follows it.
      if (tail.startsWith('/') || leaves(path, tail)) return { found: 'elsewhere' }
      path = target.slice(1)
    } else throw new ManifestError('the index has an entry of an unknown kind')
  }
  return { found: 'nothing' }
}

/** Returns true if a relative link leads above the tree. */
function leaves(path: string, target: string): boolean {
  const at = posix.join(posix.dirname(path), target)
  return at === '..' || at.startsWith('../')
}

interface Found {
  readonly segment: Buffer
  readonly head: RecordHead & { readonly start: number }
}

type Listed = { readonly entries: readonly InspectedEntry[]; readonly more: boolean }

/** Finds one path. The index has parents first, so whatever lies below a directory follows it without a gap. */
async function find(manifest: Manifest, blobs: Blobs, path: string): Promise<Found | Listed | null> {
  const prefix = path === '' ? '' : `${path}/`
  let listed: InspectedEntry[] | null = path === '' ? [] : null
  for (const part of manifest.index) {
    const segment = await unpacked(blobs, part.sha256, part.sourceBytes, segmentBytes)
    for (let at = 0; at < segment.length; ) {
      const head = readHead(segment, at)
      if (head === undefined || head.end <= at) throw new ManifestError('the index ends within an entry')
      const start = at
      at = head.end
      if (listed === null) {
        if (head.path !== path) continue
        if (head.kind !== kinds.directory) return { segment, head: { ...head, start } }
        listed = []
        continue
      }
      if (!head.path.startsWith(prefix)) return { entries: listed, more: false }
      const name = head.path.slice(prefix.length)
      if (name.includes('/')) continue
      if (listed.length === MAX_ENTRIES) return { entries: listed, more: true }
      listed.push(entryOf(segment, { ...head, start }, name))
    }
  }
  return listed === null ? null : { entries: listed, more: false }
}

function entryOf(segment: Buffer, head: Found['head'], name: string): InspectedEntry {
  switch (head.kind) {
    case kinds.directory:
      return { name, kind: 'directory' }
    case kinds.file:
      return { name, kind: 'file', sizeBytes: sizeAt(segment, head.start) }
    default:
      return { name, kind: 'link', target: segment.toString('latin1', head.tailAt, head.end) }
  }
}

/** Returns the bytes of a file in the range, from the packs of its chunks. */
async function readRange(
  segment: Buffer,
  head: Found['head'],
  { packs }: PackTable,
  blobs: Blobs,
  { offset, bytes }: PathRange,
): Promise<Buffer> {
  const end = offset + Math.min(bytes, MAX_BYTES)
  const parts: Buffer[] = []
  let open: { readonly id: number; readonly content: Buffer } | null = null
  let position = 0
  for (let at = chunksAt(segment, head.start); at + CHUNK_BYTES <= head.end && position < end; at += CHUNK_BYTES) {
    const chunk = readChunk(segment, at)
    const from = position
    position += chunk.length
    if (position <= offset) continue
    if (open?.id !== chunk.pack) {
      const pack = packs.find(({ id }) => id === chunk.pack)
      if (pack === undefined) throw new ManifestError('the index names a pack that the table lacks')
      open = { id: pack.id, content: await unpacked(blobs, pack.sha256, pack.sourceBytes, packBytes) }
    }
    const whole: Buffer = open.content.subarray(chunk.offset, chunk.offset + chunk.length)
    if (sha256Of(whole) !== Buffer.from(chunk.sha256, 'latin1').toString('hex')) {
      throw new ManifestError('a pack lacks a chunk of the index')
    }
    parts.push(whole.subarray(Math.max(0, offset - from), Math.max(0, end - from)))
  }
  return Buffer.concat(parts)
}

async function unpacked(blobs: Blobs, sha256: string, sourceBytes: number, most: number): Promise<Buffer> {
  if (sourceBytes > most) throw new ManifestError('a part of the checkpoint is too long')
  const content = await buffer(await blobs.get(sha256))
  try {
    return await unzstd(content, sourceBytes)
  } catch (error) {
    throw new ManifestError('a part of the checkpoint cannot be unpacked', { cause: error })
  }
}
