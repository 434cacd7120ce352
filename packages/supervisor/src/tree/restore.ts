import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  futimesSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { Baseline, writeBaseline } from './baseline.ts'
import { clear, remove } from './clear.ts'
import { differenceOf } from './difference.ts'
import { type Frame, writeFrame } from './frames.ts'
import { IDENTITY_DOUBLES, type Segment } from './index-writer.ts'
import { nativePath } from './native-path.ts'
import { malformed, type Placement, type Plan, type PlannedFile, planOf } from './plan.ts'
import {
  baselineFds,
  cacheStagingName,
  frameTypes,
  packBytes,
  type RestoreJob,
  type RestoreReady,
  segmentBytes,
  stagingName,
  TreeError,
  type TreeTotals,
} from './protocol.ts'
import { kinds, readHead } from './record.ts'
import { SelectivePlacement } from './selective-placement.ts'
import { unzstd } from './zstd.ts'

/** Packs decompressed ahead of the one being written. */
const AHEAD = 2
/** Longer than a tick of the clock from which the kernel takes a file's times. */
const SETTLING_MS = 20

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const WRITE = constants.O_WRONLY | constants.O_NOFOLLOW

/**
 * Writes a tree into the current directory, which must be empty but for the names to keep. Everything is first written
 * to a staging directory, and moved to its place when it is complete. The staging directory also marks an unfinished
 * restore: it is removed last, and if it exists, everything beside it is a leftover and is removed first.
 *
 * With `only`, the target may hold anything, and a staging directory of another name is all that is left over. Over another
 * tree, nobody looks at the target before the restore has ended, and everything is written in its place.
 *
 * @param next returns the worker's next frame
 * @throws TreeError if the target is not empty, or the index or a pack is malformed
 */
export async function restore(job: RestoreJob, next: () => Frame, out: number): Promise<TreeTotals> {
  const staging = job.only === undefined ? stagingName : cacheStagingName
  if (job.only !== undefined) remove(Buffer.from(staging))
  else if (job.lower !== 'over') empty(job.keep)
  const { index, segments } = await receiveIndex(next, job)
  const packs = new Map(job.packs.map(pack => [pack.id, pack.sourceBytes]))
  const plan = planOf(index, { limits: job.limits, packs, reserved: new Set(job.keep) })
  if (job.lower !== undefined && plan.hardLinks.length > 0) {
    throw new TreeError({ code: 'unsuited', message: 'an overlay parts hard links at the first write' })
  }
  const placement = job.only === undefined ? undefined : new SelectivePlacement(job.only, plan)
  const open = placement?.open ?? []
  if (job.lower === 'over') {
    const baseline = job.hasBaseline === true ? Baseline.read(baselineFds.read) : undefined
    const difference = await differenceOf(index, plan, baseline)
    sendReady(out, { open, packs: [...difference.plan.placements.keys()] })
    await write(difference.plan, difference.made, packs, next)
    setDirectories(difference.plan.directories)
    await keepBaseline(index, segments, () => true, difference.identities)
    return totalsOf(plan)
  }
  sendReady(out, { open })
  mkdirSync(staging, 0o700)
  process.chdir(staging)
  await write(
    plan,
    plan.directories.map(({ path }) => path),
    packs,
    next,
  )
  process.chdir('..')
  if (placement === undefined) moveAll(staging)
  else placement.move(staging)
  const isPlaced = (path: string) => placement?.hasPlaced(path) ?? true
  setDirectories(plan.directories.filter(({ path }) => isPlaced(path)))
  await keepBaseline(index, segments, isPlaced)
  remove(Buffer.from(staging))
  return totalsOf(plan)
}

function sendReady(out: number, ready: RestoreReady): void {
  writeFrame(out, frameTypes.ready, Buffer.from(JSON.stringify(ready)))
}

/** Writes everything of a plan into the current directory, with the directories still open for their owner. */
async function write(
  plan: Plan,
  directories: readonly string[],
  packs: ReadonlyMap<number, number>,
  next: () => Frame,
): Promise<void> {
  for (const path of directories) mkdirSync(nativePath(path), 0o700)
  for (const file of plan.files) if (file.left === 0) writeWhole(file, Buffer.alloc(0))
  await receivePacks(next, packs, plan.placements)
  if (plan.files.some(file => file.left > 0)) throw malformed('a pack is missing')
  makeLinks(plan)
}

function setDirectories(directories: Plan['directories']): void {
  // Children first, because a directory may lose the rights needed to reach its children.
  for (const { path, mode, mtimeUs } of directories.toReversed()) {
    utimesSync(nativePath(path), mtimeUs / 1e6, mtimeUs / 1e6)
    chmodSync(nativePath(path), mode)
  }
}

function totalsOf(plan: Plan): TreeTotals {
  return {
    files: plan.files.length,
    directories: plan.directories.length,
    links: plan.symlinks.length + plan.hardLinks.length,
    sourceBytes: plan.files.reduce((sum, file) => sum + file.size, 0),
  }
}

function moveAll(staging: string): void {
  for (const name of readdirSync(staging, { encoding: 'buffer' })) {
    renameSync(Buffer.concat([Buffer.from(`${staging}/`), name]), name)
  }
}

function empty(keep: readonly string[]): void {
  const names = readdirSync('.').filter(name => !keep.includes(name))
  if (names.length === 0) return
  if (!names.includes(stagingName)) throw new TreeError({ code: 'target_not_empty' })
  clear({ keep })
}

async function receiveIndex(next: () => Frame, job: RestoreJob): Promise<{ index: Buffer; segments: Segment[] }> {
  const parts: Buffer[] = []
  const segments: Segment[] = []
  let start = 0
  for (;;) {
    const frame = next()
    if (frame.type === frameTypes.indexEnd) break
    if (frame.type !== frameTypes.segment) throw malformed('a frame came out of order')
    const size = frame.payload.readUInt32LE(0)
    if (size > segmentBytes) throw malformed('a part of the index is too long')
    const end = start + size
    if (end > job.limits.indexBytes) throw new TreeError({ code: 'over_limit', limit: 'index', atLeast: end })
    parts.push(await unzipped(frame.payload.subarray(4), size))
    segments.push({ start, end })
    start = end
  }
  return { index: Buffer.concat(parts), segments }
}

/**
 * Decompresses ahead of writing, so that the thread pool and this thread each use a core. Frames are read in place,
 * because a stream would only advance while nothing is being written.
 */
async function receivePacks(
  next: () => Frame,
  packs: ReadonlyMap<number, number>,
  placements: Plan['placements'],
): Promise<void> {
  const ahead: { id: number; content: Promise<Buffer> }[] = []
  const writeNext = async () => {
    const pack = ahead.shift()
    if (pack === undefined) return
    const content = await pack.content
    for (const placement of placements.get(pack.id) ?? []) place(placement, content)
  }
  for (;;) {
    const frame = next()
    if (frame.type === frameTypes.finish) break
    if (frame.type !== frameTypes.pack) throw malformed('a frame came out of order')
    const id = frame.payload.readUInt32LE(0)
    const size = frame.payload.readUInt32LE(4)
    if (size !== packs.get(id) || size > packBytes) throw malformed('a pack does not have its declared size')
    const content = unzipped(frame.payload.subarray(8), size)
    // The failure is reported when the pack's turn to be awaited comes.
    content.catch(() => undefined)
    ahead.push({ id, content })
    if (ahead.length > AHEAD) await writeNext()
  }
  while (ahead.length > 0) await writeNext()
}

/** Writes a chunk to its file; the worker has verified the digests of the pack and of the index. */
function place({ file, at, offset, length }: Placement, pack: Buffer): void {
  const content = pack.subarray(offset, offset + length)
  file.left--
  if (length === file.size) {
    writeWhole(file, content)
    return
  }
  const fd = openSync(nativePath(file.path), WRITE | constants.O_CREAT, 0o600)
  try {
    writeAt(fd, content, at)
    if (file.left > 0) return
    fchmodSync(fd, file.mode)
    futimesSync(fd, file.mtimeUs / 1e6, file.mtimeUs / 1e6)
  } finally {
    closeSync(fd)
  }
}

/**
 * Writes a whole file. It is created with its final mode, because an open descriptor stays writable whatever the mode.
 */
function writeWhole(file: PlannedFile, content: Buffer): void {
  const fd = openSync(nativePath(file.path), CREATE, file.mode)
  try {
    writeAt(fd, content, 0)
    futimesSync(fd, file.mtimeUs / 1e6, file.mtimeUs / 1e6)
  } finally {
    closeSync(fd)
  }
}

function writeAt(fd: number, content: Buffer, at: number): void {
  for (let done = 0; done < content.length; ) done += writeSync(fd, content, done, content.length - done, at + done)
}

function makeLinks({ symlinks, hardLinks }: Plan): void {
  for (const { path, target } of hardLinks) linkSync(nativePath(target), nativePath(path))
  for (const { path, target, mtimeUs } of symlinks) {
    symlinkSync(nativePath(target), nativePath(path))
    lutimesSync(nativePath(path), mtimeUs / 1e6, mtimeUs / 1e6)
  }
}

/**
 * Stores the current identity of everything that was placed, so that the next seal knows which entries have changed since.
 * @param known identities that need no look
 */
async function keepBaseline(
  index: Buffer,
  segments: readonly Segment[],
  isPlaced: (path: string) => boolean,
  known: ReadonlyMap<string, Float64Array> = new Map(),
): Promise<void> {
  // Nobody else writes here yet. After this wait, no later write can fall into the same clock tick as our last one.
  await new Promise(resolve => setTimeout(resolve, SETTLING_MS))
  const identities: number[] = []
  for (let at = 0, head = readHead(index, at); head !== undefined; at = head.end, head = readHead(index, at)) {
    const before = known.get(head.path)
    if (before !== undefined) {
      identities.push(...before)
      continue
    }
    const stats = head.kind === kinds.hardLink || !isPlaced(head.path) ? undefined : statOf(head.path)
    identities.push(stats?.ino ?? Number.NaN, stats?.mtimeMs ?? Number.NaN, stats?.ctimeMs ?? Number.NaN)
  }
  if (identities.length % IDENTITY_DOUBLES !== 0) throw new Error('an identity is incomplete')
  writeBaseline(baselineFds.write, { index, identities: Float64Array.from(identities), segments })
}

/** Returns undefined below a directory that may not be entered; its files will be read again. */
function statOf(path: string) {
  try {
    return lstatSync(nativePath(path), { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

async function unzipped(content: Buffer, size: number): Promise<Buffer> {
  try {
    return await unzstd(content, size)
  } catch (error) {
    throw new TreeError(
      { code: 'malformed', message: 'content does not decompress to its declared size' },
      { cause: error },
    )
  }
}
