import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { BlobRef, Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { packBytes, segmentBytes, type TreeTotals } from '@berth/supervisor/tree'

/** Names the format of manifest, pack table and index together; another format gets another name. */
const FORMAT = 'berth.tree.1'
/** Bound of a pack table; Berth's own manifests never exceed it. */
const MAX_TABLE_BYTES = 4 * 1024 * 1024

/** A compressed part of the file list. */
export interface IndexBlob extends BlobRef {
  readonly sourceBytes: number
}

/** Compressed file content. */
export interface Pack extends BlobRef {
  /** Identifies a pack while checkpoints build on one another; no two of their packs share an id. */
  readonly id: number
  readonly sourceBytes: number
  /** Number of its bytes that this checkpoint's files use. */
  readonly liveBytes: number
}

/** The small head of a checkpoint. Equal trees that build on the same checkpoint have equal manifests. */
export interface Manifest extends TreeTotals {
  readonly format: typeof FORMAT
  /** Size of all blobs, as stored. */
  readonly storedBytes: number
  readonly index: readonly IndexBlob[]
  /** The blob of the pack table. */
  readonly packs: BlobRef
}

/** The packs of a checkpoint. */
export interface PackTable {
  readonly nextPack: number
  readonly packs: readonly Pack[]
}

/** Text that is no manifest or pack table of this format. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError'
}

export function sha256Of(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

export function encodeManifest(manifest: Omit<Manifest, 'format'>): Buffer {
  const { files, directories, links, sourceBytes, storedBytes, index, packs } = manifest
  const fields: Manifest = { format: FORMAT, files, directories, links, sourceBytes, storedBytes, index, packs }
  return Buffer.from(JSON.stringify(fields))
}

/** @throws ManifestError */
export function parseManifest(manifest: Uint8Array): Manifest {
  const value = parseObject(manifest)
  if (value['format'] !== FORMAT) throw new ManifestError('the manifest has an unknown format')
  return {
    format: FORMAT,
    files: count(value['files']),
    directories: count(value['directories']),
    links: count(value['links']),
    sourceBytes: count(value['sourceBytes']),
    storedBytes: count(value['storedBytes']),
    index: list(value['index']).map(part => {
      const fields = record(part)
      return { ...blobRef(fields), sourceBytes: count(fields['sourceBytes'], segmentBytes) }
    }),
    packs: blobRef(record(value['packs']), MAX_TABLE_BYTES),
  }
}

export function encodePackTable(table: PackTable): Buffer {
  return Buffer.from(
    JSON.stringify({
      format: FORMAT,
      nextPack: table.nextPack,
      packs: table.packs.map(pack => [pack.id, pack.sha256, pack.sizeBytes, pack.sourceBytes, pack.liveBytes]),
    }),
  )
}

/**
 * Reads the pack table that a manifest names.
 *
 * @throws ManifestError, BlobMissing, BlobCorrupt
 */
export async function readPackTable(manifest: Manifest, blobs: Blobs): Promise<PackTable> {
  const found = await blobs.stat(manifest.packs.sha256)
  if (found !== undefined && found.sizeBytes > MAX_TABLE_BYTES) throw new ManifestError('the pack table is too long')
  const value = parseObject(await buffer(await blobs.get(manifest.packs.sha256)))
  if (value['format'] !== FORMAT) throw new ManifestError('the pack table has an unknown format')
  const nextPack = count(value['nextPack'], 0xffff_ffff)
  const ids = new Set<number>()
  const packs = list(value['packs']).map(fields => {
    const [id, sha256, sizeBytes, sourceBytes, liveBytes] = list(fields)
    const pack = {
      id: count(id, nextPack - 1),
      ...blobRef({ sha256, sizeBytes }),
      sourceBytes: count(sourceBytes, packBytes),
      liveBytes: count(liveBytes, packBytes),
    }
    if (ids.has(pack.id)) throw new ManifestError('the pack table names a pack twice')
    ids.add(pack.id)
    return pack
  })
  return { nextPack, packs }
}

function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return record(JSON.parse(Buffer.from(bytes).toString()))
  } catch (error) {
    throw error instanceof ManifestError
      ? error
      : new ManifestError('the manifest or pack table is no JSON', { cause: error })
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ManifestError('the manifest or pack table has a value that is not an object')
  return value as Readonly<Record<string, unknown>>
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new ManifestError('the manifest or pack table has a value that is not a list')
  return value
}

function count(value: unknown, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > most) {
    throw new ManifestError('the manifest or pack table has a value that is not a count')
  }
  return value
}

function blobRef(fields: Readonly<Record<string, unknown>>, most?: number): BlobRef {
  const sha256 = fields['sha256']
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256))
    throw new ManifestError('the manifest or pack table has a value that is not a digest')
  return { sha256, sizeBytes: count(fields['sizeBytes'], most) }
}
