import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { environmentLimits, type Issue } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Spooled } from '@berth/platform/storage/blobs/spool.ts'
import { type Entry, fromRandomAccessReaderPromise, type ZipFile } from 'yauzl'
import { headerFault, isExecutable, kindFault, nameFault, nameOf } from './entry-faults.ts'
import { SpooledReader } from './spooled-reader.ts'

export const MANIFEST = 'extension.json'

/** An entry that was checked, with the place of its data in the file. */
interface Place {
  readonly entry: Entry
  readonly name: string
  readonly start: number
  readonly end: number
}

/** Where the content of an archive goes while it is checked. */
export interface ArchiveSink {
  /**
   * Makes a directory, whose name ends with a slash, or opens a new file, which the reader writes and closes. What was
   * written counts only if the whole archive proves sound.
   */
  begin(name: string, executable: boolean): Promise<FileHandle | null>
}

/** Returns a 400 `environment_invalid` for an archive. */
export const archiveRefusal = (path: Issue['path'], message: string) =>
  refusal('environment_invalid', { issues: [{ path, message }] })

/** A sound archive. */
export interface ReadArchive {
  /** The bytes of its manifest. */
  readonly manifest: Buffer
  /** The names of its entries; that of a directory ends with a slash. */
  readonly names: readonly string[]
}

/**
 * Checks that every reader unpacks an archive to the same files, within its own root and within the limits. It inflates
 * every entry and believes no size that a header gives.
 * @param sink gets every file, if the archive is unpacked
 * @throws ApiError 400 `environment_invalid` with the first fault
 */
export async function readArchive(content: Spooled, sink?: ArchiveSink): Promise<ReadArchive> {
  const reader = new SpooledReader(content)
  let current: string | null = null
  try {
    const zip = await fromRandomAccessReaderPromise(reader, content.sizeBytes, {
      autoClose: false,
      decodeStrings: false,
      validateEntrySizes: true,
    })
    if (zip.entryCount > environmentLimits.archiveEntries)
      throw archiveRefusal(['archive'], `has more than ${environmentLimits.archiveEntries} entries`)
    const places: Place[] = []
    for await (const entry of zip.eachEntry()) {
      current = nameOf(entry) ?? entry.fileNameRaw.toString()
      places.push(await placeOf(zip, entry))
    }
    current = null
    requireApart(places)
    requireDistinct(places)
    let manifest: Buffer | null = null
    let left: number = environmentLimits.archiveExpandedBytes
    for (const place of places) {
      current = place.name
      const { sizeBytes, bytes } = await inflate(zip, place, left, sink)
      left -= sizeBytes
      if (place.name === MANIFEST) manifest = bytes
    }
    if (manifest === null) throw archiveRefusal([MANIFEST], missing(places))
    return { manifest, names: places.map(({ name }) => name) }
  } catch (error) {
    if (reader.failure !== undefined) throw reader.failure
    if (!isFaultOfZip(error)) throw error
    throw archiveRefusal(
      current === null ? ['archive'] : ['archive', current],
      `is no sound ZIP file: ${error.message}`,
    )
  }
}

/** yauzl and zlib throw plain errors, those of a file system have a system call. */
const isFaultOfZip = (error: unknown): error is Error =>
  error instanceof Error && (error.constructor === Error || error instanceof RangeError) && !('syscall' in error)

async function placeOf(zip: ZipFile, entry: Entry): Promise<Place> {
  const name = nameOf(entry)
  if (name === null) throw archiveRefusal(['archive', entry.fileNameRaw.toString()], 'has a name that is not UTF-8')
  const refuse = (fault: string | null) => {
    if (fault !== null) throw archiveRefusal(['archive', name], fault)
  }
  refuse(nameFault(name))
  refuse(kindFault(entry, name))
  const local = await zip.readLocalFileHeaderPromise(entry)
  refuse(headerFault(entry, local))
  const end = local.fileDataStart + entry.compressedSize
  return { entry, name, start: entry.relativeOffsetOfLocalHeader, end }
}

/** Data that two entries share is how a small file expands without end. */
function requireApart(places: readonly Place[]): void {
  let end = 0
  for (const place of places.toSorted((a, b) => a.start - b.start)) {
    if (place.start < end) throw archiveRefusal(['archive', place.name], 'overlaps another entry')
    end = place.end
  }
}

/** A file may neither be there twice, in whatever case, nor hold other entries. Directories count as entries do. */
function requireDistinct(places: readonly Place[]): void {
  const kinds = new Map<string, 'file' | 'directory'>()
  for (const { name } of places) {
    const folded = fold(name)
    if (kinds.has(folded)) throw archiveRefusal(['archive', name], 'is there twice, but for the case of letters')
    kinds.set(folded, name.endsWith('/') ? 'directory' : 'file')
  }
  const directories = new Set<string>()
  for (const { name } of places) {
    const folded = fold(name)
    for (let end = folded.indexOf('/'); end !== -1; end = folded.indexOf('/', end + 1)) {
      const directory = folded.slice(0, end)
      if (kinds.get(directory) === 'file') throw archiveRefusal(['archive', name], 'lies in an entry that is a file')
      directories.add(directory)
    }
  }
  if (directories.size > environmentLimits.archiveEntries)
    throw archiveRefusal(['archive'], `has more than ${environmentLimits.archiveEntries} directories`)
}

const fold = (name: string): string => name.replace(/\/$/, '').normalize('NFC').toLowerCase()

/** Reads an entry to its end. Only the manifest's bytes are kept. @param mostBytes what the archive may still expand to */
async function inflate(zip: ZipFile, { entry, name }: Place, mostBytes: number, sink: ArchiveSink | undefined) {
  const isManifest = name === MANIFEST
  await using file = await sink?.begin(name, isExecutable(entry))
  const data = await zip.openReadStreamPromise(entry)
  const kept: Buffer[] = []
  let sizeBytes = 0
  let checksum = 0
  for await (const chunk of data as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length
    if (sizeBytes > mostBytes)
      throw archiveRefusal(['archive', name], `expands beyond ${environmentLimits.archiveExpandedBytes} bytes in all`)
    if (isManifest && sizeBytes > environmentLimits.manifestBytes)
      throw archiveRefusal([MANIFEST], `must not exceed ${environmentLimits.manifestBytes} bytes`)
    checksum = crc32(chunk, checksum)
    if (isManifest) kept.push(chunk)
    await file?.writeFile(chunk)
  }
  if (checksum !== entry.crc32) throw archiveRefusal(['archive', name], 'does not match its checksum')
  return { sizeBytes, bytes: Buffer.concat(kept) }
}

function missing(places: readonly Place[]): string {
  const wrapped = places.find(({ name }) => /^[^/]+\/extension\.json$/.test(name))
  return wrapped === undefined
    ? 'is not at the root of the archive'
    : `is not at the root of the archive but at ${wrapped.name}: pack the content of that directory`
}
