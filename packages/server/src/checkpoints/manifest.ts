import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { packBytes, segmentBytes, type TreeTotals } from '@berth/supervisor/tree'
import type { BlobRef, Blobs } from '../storage/blobs/blobs.ts'

/** Names the form of manifest, pack table and index together; another form gets another name. */
const FORMAT = 'berth.tree.1'
/** Of a table of packs, which a manifest of ours never exceeds. */
const MAX_TABLE_BYTES = 4 * 1024 * 1024

/** A part of the file list, compressed. */
export interface IndexBlob extends BlobRef {
  readonly sourceBytes: number
}

/** File content, compressed. */
export interface Pack extends BlobRef {
  /** Numbers a pack for as long as checkpoints build on one another; none is used twice among them. */
  readonly id: number
  readonly sourceBytes: number
  /** How much of it this checkpoint's files use. */
  readonly liveBytes: number
}

/** The small head of a checkpoint. Equal trees that build on the same checkpoint have equal manifests. */
export interface Manifest extends TreeTotals {
  readonly format: typeof FORMAT
  /** All blobs, as stored. */
  readonly storedBytes: number
  readonly index: readonly IndexBlob[]
  /** The blob that holds the table of packs. */
  readonly packs: BlobRef
}

/** The packs of a checkpoint. */
export interface PackTable {
  readonly nextPack: number
  readonly packs: readonly Pack[]
}

/** Text that is no manifest or table of this form. */
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
  if (value['format'] !== FORMAT) throw new ManifestError('a manifest of another format')
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

/** Reads the table that a manifest names. @throws ManifestError, BlobMissing, BlobCorrupt */
export async function readPackTable(manifest: Manifest, blobs: Blobs): Promise<PackTable> {
  const found = await blobs.stat(manifest.packs.sha256)
  if (found !== undefined && found.sizeBytes > MAX_TABLE_BYTES) throw new ManifestError('a table of packs too long')
  const value = parseObject(await buffer(await blobs.get(manifest.packs.sha256)))
  if (value['format'] !== FORMAT) throw new ManifestError('a table of another format')
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
    if (ids.has(pack.id)) throw new ManifestError('a pack comes twice')
    ids.add(pack.id)
    return pack
  })
  return { nextPack, packs }
}

function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return record(JSON.parse(Buffer.from(bytes).toString()))
  } catch (error) {
    throw error instanceof ManifestError ? error : new ManifestError('no JSON', { cause: error })
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ManifestError('not an object')
  return value as Readonly<Record<string, unknown>>
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new ManifestError('not a list')
  return value
}

function count(value: unknown, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > most) {
    throw new ManifestError('not a count')
  }
  return value
}

function blobRef(fields: Readonly<Record<string, unknown>>, most?: number): BlobRef {
  const sha256 = fields['sha256']
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) throw new ManifestError('not a digest')
  return { sha256, sizeBytes: count(fields['sizeBytes'], most) }
}
