import { closeSync, constants, fstatSync, lstatSync, readlinkSync, readSync, type Stats } from 'node:fs'
import { Baseline, type Known, writeBaseline } from './baseline.ts'
import { ByteSearch } from './byte-search.ts'
import { openClosed } from './closed.ts'
import { Excluder } from './exclude.ts'
import { IndexSender } from './index-sender.ts'
import { type Identity, IndexWriter } from './index-writer.ts'
import { KnownContent } from './known-content.ts'
import { nativePath } from './native-path.ts'
import { Packer } from './packer.ts'
import {
  baselineFds,
  cacheStagingName,
  chunkBytes,
  type LimitName,
  type SealDone,
  type SealJob,
  stagingName,
  TreeError,
} from './protocol.ts'
import {
  CHUNK_BYTES,
  type ChunkRef,
  chunksAt,
  endOf,
  kindAt,
  kinds,
  modeAt,
  pathAt,
  readPlace,
  sizeAt,
  tailOf,
} from './record.ts'
import { Scope } from './scope.ts'
import { UpperLayer } from './upper-layer.ts'
import { type Entered, type Visitor, vanishing, walk } from './walk.ts'

/**
 * A file that changed within this time may change again without a change of its times, because the kernel's clock for
 * them ticks only every few milliseconds. Such a file gets no identity.
 */
const UNSETTLED_MS = 50

/** `O_NONBLOCK`: do not wait for a FIFO that has replaced the file. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/**
 * Seals the current directory: sends packs, the index and totals to descriptor `out`, and writes the new baseline.
 */
export async function seal(job: SealJob, out: number): Promise<SealDone> {
  const baseline = job.hasBaseline ? Baseline.read(baselineFds.read) : undefined
  const sender = new IndexSender(out, baseline)
  const sealing = new Sealing(job, out, baseline, new IndexWriter(job.limits.indexBytes, part => sender.add(part)))
  await walk(sealing, {})
  // The thread pool compresses the last pack and segment while the baseline is written.
  const packed = sealing.packer.end()
  const { index } = sealing
  const segments = index.segments()
  writeBaseline(baselineFds.write, { index: index.bytes, identities: index.identities, segments })
  await packed
  await sender.end()
  return sealing.totals()
}

/** A directory being sealed; the root has no entry. */
interface Directory extends Entered {
  readonly entry?: number
}

class Sealing implements Visitor<Directory> {
  readonly index: IndexWriter
  readonly packer: Packer
  readonly #job: SealJob
  readonly #baseline: Baseline | undefined
  readonly #known: KnownContent
  /** Undefined if every entry has to be looked at. */
  readonly #upper: UpperLayer | undefined
  readonly #excluder: Excluder
  readonly #scope: Scope
  readonly #secrets: ByteSearch | undefined
  readonly #settledBeforeMs = Date.now() - UNSETTLED_MS
  /** First path of each file with several links. */
  readonly #links = new Map<string, string>()
  /** Chunks in use, each once. */
  readonly #used = new Map<number, { readonly offsets: Set<number>; bytes: number }>()
  readonly #counts = { files: 0, directories: 0, links: 0, sourceBytes: 0, readBytes: 0 }
  /** The part that is counted by itself; undefined: none. */
  readonly #part: Scope | undefined
  readonly #counted = { entries: 0, sourceBytes: 0 }
  /** The path that the seal is at. */
  #at = ''
  readonly #omitted = { sockets: 0, fifos: 0, devices: 0, excluded: 0, tooLong: 0 }

  constructor(job: SealJob, out: number, baseline: Baseline | undefined, index: IndexWriter) {
    this.#job = job
    this.#baseline = baseline
    this.#known = new KnownContent(baseline, new Set(job.packs.map(pack => pack.id)))
    this.#excluder = new Excluder(job.exclude)
    this.#scope = new Scope(job.only)
    this.#part = job.counted && new Scope(job.counted)
    const secrets = new ByteSearch((job.secrets ?? []).map(secret => Buffer.from(secret)))
    this.#secrets = secrets.isEmpty ? undefined : secrets
    const isWhole = job.only === undefined && this.#part === undefined && this.#secrets === undefined
    this.#upper = baseline !== undefined && isWhole ? UpperLayer.read(baseline) : undefined
    this.index = index
    this.packer = new Packer(out, job.level, job.nextPack)
  }

  totals(): SealDone {
    return {
      ...this.#counts,
      omitted: this.#omitted,
      live: [...this.#used].map(([pack, used]) => [pack, used.bytes]),
      ...(this.#part !== undefined && { counted: this.#counted }),
    }
  }

  directory(path: string, stats: Stats, parent: Directory): Directory | undefined {
    // A restore would take this directory for its own. The worker, not the name, knows of unfinished restores.
    if (isStaging(path)) return this.#omit(parent)
    if (!this.#scope.leadsTo(path)) return this.#leaveOut(parent)
    if (this.#excluder.excludes(path, true)) return this.#omit(parent)
    this.#come(path)
    this.#count('directories')
    const entry = this.index.entries
    const baseline = this.#baseline
    const known = baseline?.find(path, stats)
    if (known?.hasTimes && this.#upper?.isLower(path) && this.#copyBelow(path, stats, known)) return undefined
    if (baseline !== undefined && known?.untouched) {
      // No name in it was added, removed or changed, and the index has all that it held.
      this.#copy(path, stats, known)
      const prefix = `${path}/`
      return { entry, next: () => baseline.nextIn(prefix) }
    }
    this.index.directory(path, stats.mode & 0o777, microseconds(stats), this.#settled(stats))
    return { entry }
  }

  /**
   * Copies a directory of the lower layers with all that is in it. The list of the upper layer is older than the look at
   * the directory, whose times tell that it is none that was made since.
   * @returns false, with nothing done, if something in it has to be looked at
   */
  #copyBelow(path: string, stats: Stats, known: Known): boolean {
    const baseline = this.#baseline
    if (baseline === undefined || known.kind !== kinds.directory) return false
    const { index } = baseline
    const counts = { files: 0, directories: 0, links: 0, sourceBytes: 0 }
    const copied = baseline.below(path, (start, end, isWhole) => {
      const kind = kindAt(index, start)
      const isDirectory = kind === kinds.directory
      // A directory without an identity held more than its entries.
      if (isDirectory && !isWhole) return false
      if (this.#excluder.mayName(index, tailOf(index, start))) {
        if (this.#excluder.excludes(pathAt(index, start) ?? '', isDirectory)) return false
      }
      if (kind === kinds.file) {
        if (!this.#known.isKept({ start, end })) return false
        counts.sourceBytes += sizeAt(index, start)
      }
      counts[isDirectory ? 'directories' : kind === kinds.file ? 'files' : 'links']++
      return true
    })
    if (copied === undefined) return false
    this.#copy(path, stats, known)
    for (let at = copied.start; at < copied.end; ) {
      const end = endOf(index, at)
      if (kindAt(index, at) === kinds.file) this.#useAll(index, at, end)
      at = end
    }
    this.index.copyAll(index, copied.start, copied.end, copied.identities)
    this.#counts.files += counts.files
    this.#counts.directories += counts.directories
    this.#counts.links += counts.links
    this.#counts.sourceBytes += counts.sourceBytes
    this.#refuseOver('source', this.#counts.sourceBytes)
    this.#refuseOver('files', this.#counts.files + this.#counts.directories + this.#counts.links)
    return true
  }

  entry(path: string, stats: Stats, parent: Directory): Promise<void> | undefined {
    if (isStaging(path)) return this.#omit(parent)
    if (!this.#scope.holds(path)) return this.#leaveOut(parent)
    if (this.#excluder.excludes(path, false)) return this.#omit(parent)
    this.#come(path)
    if (stats.isFile()) return this.#file(path, stats)
    if (stats.isSymbolicLink()) return this.#symlink(path, stats)
    if (stats.isSocket()) this.#omitted.sockets++
    else if (stats.isFIFO()) this.#omitted.fifos++
    else this.#omitted.devices++
    return this.#leaveOut(parent)
  }

  tooLong(parent: Directory): void {
    this.#omitted.tooLong++
    this.#leaveOut(parent)
  }

  /** Remembers how far the seal has come, and searches the path itself. */
  #come(path: string): void {
    this.#at = path
    this.#refuseSecret(this.#secrets?.isIn(Buffer.from(path, 'latin1')))
  }

  #refuseSecret(found: boolean | undefined): void {
    if (found) throw new TreeError({ code: 'secret', path: textOf(this.#at) })
  }

  #omit(parent: Directory): undefined {
    this.#omitted.excluded++
    return this.#leaveOut(parent)
  }

  /** Removes the identity of a directory that holds more than its entries, so that the next seal reads it again. */
  #leaveOut({ entry }: Directory): undefined {
    if (entry !== undefined) this.index.forget(entry)
  }

  #symlink(path: string, stats: Stats): undefined {
    const known = this.#baseline?.find(path, stats)
    if (known?.untouched) {
      this.#count('links')
      this.#copy(path, stats, known)
      return
    }
    const target = vanishing(() => readlinkSync(nativePath(path), { encoding: 'latin1' }))
    if (target === undefined) return
    this.#refuseSecret(this.#secrets?.isIn(Buffer.from(target, 'latin1')))
    this.#count('links')
    this.index.symlink(path, microseconds(stats), target, this.#settled(stats))
  }

  #file(path: string, stats: Stats): Promise<void> | undefined {
    const inode = stats.nlink > 1 ? inodeOf(path, stats) : undefined
    const first = inode === undefined ? undefined : this.#links.get(inode)
    if (first !== undefined) {
      this.#count('links')
      this.index.hardLink(path, first)
      return undefined
    }
    const known = this.#baseline?.find(path, stats)
    if (known !== undefined && this.#takeOver(path, stats, known)) {
      if (inode !== undefined) this.#links.set(inode, path)
      return undefined
    }
    return this.#read(path, inode, known?.kind === kinds.file ? known : undefined)
  }

  /** Reuses the previous checkpoint's entry for an unchanged file. */
  #takeOver(path: string, stats: Stats, known: Known): boolean {
    if (this.#baseline === undefined || !known.untouched || !this.#known.isKept(known)) return false
    const { index } = this.#baseline
    if (sizeAt(index, known.start) !== stats.size || modeAt(index, known.start) !== (stats.mode & 0o777)) return false
    this.#countFile(stats.size)
    this.#useAll(index, known.start, known.end)
    this.#copy(path, stats, known)
    return true
  }

  #copy(path: string, stats: Stats, { start, end }: Known): void {
    if (this.#baseline !== undefined) this.index.copy(path, this.#baseline.index, start, end, this.#settled(stats))
  }

  async #read(path: string, inode: string | undefined, known: Known | undefined): Promise<void> {
    const fd = vanishing(() => openClosed(path, READ))
    if (fd === undefined) return
    try {
      const stats = fstatSync(fd)
      if (!stats.isFile()) return
      this.#refuseOver('source', this.#counts.sourceBytes + stats.size)
      // Take identity and length from the open file before its first byte is read. Any later write then changes the
      // identity for the next seal, and a file that grows forever is read only up to its present end.
      const { chunks, size } = await this.#readChunks(fd, stats.size, known)
      this.#counts.readBytes += size
      this.#countFile(size)
      for (const chunk of chunks) this.#use(chunk)
      const identity = size === stats.size ? this.#settled(stats) : undefined
      this.index.file(path, { mode: stats.mode & 0o777, mtimeUs: microseconds(stats), size, chunks, identity })
      // The file may have vanished after it was listed; only now is there something to link to.
      if (inode !== undefined) this.#links.set(inode, path)
    } finally {
      closeSync(fd)
    }
  }

  /** @returns fewer bytes than wanted if the file has become shorter */
  async #readChunks(
    fd: number,
    wanted: number,
    known: Known | undefined,
  ): Promise<{ chunks: ChunkRef[]; size: number }> {
    const before = known && this.#known.of(known)
    const chunks: ChunkRef[] = []
    const holdsSecret = this.#secrets?.stream()
    let size = 0
    while (size < wanted) {
      const length = Math.min(chunkBytes, wanted - size)
      const waiting = this.packer.makeRoom(length)
      if (waiting !== undefined) await waiting
      const got = readUpTo(fd, this.packer.room, length)
      this.#refuseSecret(holdsSecret?.(this.packer.room.subarray(0, got)))
      if (got > 0) chunks.push(this.packer.take(got, sha256 => before?.get(sha256) ?? this.#known.find(sha256, got)))
      size += got
      if (got < length) break
    }
    return { chunks, size }
  }

  #countFile(size: number): void {
    this.#counts.sourceBytes += size
    if (this.#part?.holds(this.#at)) this.#counted.sourceBytes += size
    this.#refuseOver('source', this.#counts.sourceBytes)
    this.#count('files')
  }

  #settled(stats: Stats): Identity {
    return stats.ctimeMs < this.#settledBeforeMs ? stats : undefined
  }

  #useAll(index: Buffer, start: number, end: number): void {
    for (let at = chunksAt(index, start); at < end; at += CHUNK_BYTES) this.#use(readPlace(index, at))
  }

  #use({ pack, offset, length }: Omit<ChunkRef, 'sha256'>): void {
    let used = this.#used.get(pack)
    if (used === undefined) {
      used = { offsets: new Set(), bytes: 0 }
      this.#used.set(pack, used)
    }
    if (used.offsets.has(offset)) return
    used.offsets.add(offset)
    used.bytes += length
  }

  #count(what: 'files' | 'directories' | 'links'): void {
    this.#counts[what]++
    if (this.#part?.leadsTo(this.#at)) this.#counted.entries++
    this.#refuseOver('files', this.#counts.files + this.#counts.directories + this.#counts.links)
  }

  #refuseOver(limit: LimitName & ('files' | 'source'), atLeast: number): void {
    const most = limit === 'files' ? this.#job.limits.files : this.#job.limits.sourceBytes
    const { sourceBytes } = this.#counts
    if (atLeast <= most) return
    const path = this.#job.secrets === undefined ? {} : { path: textOf(this.#at) }
    throw new TreeError({ code: 'over_limit', limit, atLeast, sourceBytes, ...path })
  }
}

const isStaging = (path: string): boolean => path === stagingName || path === cacheStagingName

/** Returns a path, which has one character for each byte, as text. */
const textOf = (path: string): string => Buffer.from(path, 'latin1').toString()

function readUpTo(fd: number, into: Buffer, length: number): number {
  let have = 0
  while (have < length) {
    const got = readSync(fd, into, have, length - have, null)
    if (got === 0) break
    have += got
  }
  return have
}

/**
 * Names a file whatever its path. Large inode numbers are read exactly: above 2^53 a double loses their last bits. In an
 * overlay the files of each layer have a device of their own, and may share a number.
 */
function inodeOf(path: string, stats: Stats): string {
  if (Number.isSafeInteger(stats.ino)) return `${stats.dev}:${stats.ino}`
  const exact = lstatSync(nativePath(path), { bigint: true, throwIfNoEntry: false })
  return exact === undefined ? path : `${exact.dev}:${exact.ino}`
}

function microseconds(stats: Stats): number {
  return Math.round(stats.mtimeMs * 1000)
}
