import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { type Frame, writeFrame } from './frames.ts'
import { nativePath } from './native-path.ts'
import {
  chunkBytes,
  frameTypes,
  type OutboxJob,
  type OutboxReady,
  outboxName,
  type PresentedEntry,
} from './protocol.ts'
import { tried } from './tried.ts'

/** Most entries read; an agent that writes to the outbox directly may leave any number. */
const MAX_ENTRIES = 1000

/** Names that `berth-present` gives: a time in nanoseconds, and its process id. */
const ENTRY = /^\d{1,20}-\d{1,10}$/

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/**
 * Empties the outbox in the current directory: sends the presented files, in order, and removes them once the worker
 * has recorded them. It first moves them to a directory named by the batch, so if the worker dies, its successor finds
 * the same files. Batches with other names were recorded or given up, and are removed.
 *
 * The owner of the tree may be writing here meanwhile. At worst, it makes this program read files that the owner
 * itself, or everybody, can read: nothing else is visible here.
 */
export function emptyOutbox(job: OutboxJob, read: () => Frame, out: number): void {
  const batch = `${outboxName}.${job.batch}`
  for (const name of namesIn('.')) {
    if (name.startsWith(`${outboxName}.`) && name !== batch) remove(name)
  }
  moveInto(batch)
  const { names, more } = entriesIn(batch)
  const left = { count: job.limits.count, totalBytes: job.limits.totalBytes }
  for (const name of names) {
    const file = fileIn(`${batch}/${name}`)
    if (file !== undefined) handOut(file, job.limits.eachBytes, left, out)
  }
  const ready: OutboxReady = { more }
  writeFrame(out, frameTypes.ready, Buffer.from(JSON.stringify(ready)))
  if (read().type !== frameTypes.finish) throw new Error('the worker did not confirm that it recorded the files')
  remove(batch)
}

function handOut(
  { path, name }: { readonly path: string; readonly name: string },
  eachBytes: number,
  left: { count: number; totalBytes: number },
  out: number,
): void {
  const fd = tried(() => openSync(nativePath(path), READ))
  if (fd === undefined) return
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) return
    const sizeBytes = stats.size
    const over =
      sizeBytes > eachBytes
        ? 'eachBytes'
        : left.count === 0
          ? 'count'
          : sizeBytes > left.totalBytes
            ? 'totalBytes'
            : undefined
    const entry: PresentedEntry = { name, sizeBytes, ...(over !== undefined && { over }) }
    writeFrame(out, frameTypes.presented, Buffer.from(JSON.stringify(entry)))
    if (over !== undefined) return
    left.count -= 1
    left.totalBytes -= sizeBytes
    copyOut(fd, sizeBytes, out)
  } finally {
    closeSync(fd)
  }
}

/** Copies at most the size that the file had when it was opened, because it may be growing. */
function copyOut(fd: number, sizeBytes: number, out: number): void {
  const buffer = Buffer.alloc(Math.min(chunkBytes, sizeBytes))
  for (let position = 0; position < sizeBytes; ) {
    const got = readSync(fd, buffer, 0, Math.min(buffer.length, sizeBytes - position), position)
    if (got === 0) break
    writeFrame(out, frameTypes.content, buffer.subarray(0, got))
    position += got
  }
  writeFrame(out, frameTypes.content)
}

/** Moves the outbox's entries into a batch: in one rename, if there is no batch of that name yet. */
function moveInto(batch: string): void {
  if (attempt(() => renameSync(outboxName, batch))) return
  attempt(() => mkdirSync(batch, { mode: 0o700 }))
  for (const name of entriesIn(outboxName).names) attempt(() => renameSync(`${outboxName}/${name}`, `${batch}/${name}`))
}

function entriesIn(directory: string): { readonly names: readonly string[]; readonly more: boolean } {
  const names: string[] = []
  for (const name of namesIn(directory)) {
    if (!ENTRY.test(name)) continue
    if (names.length === MAX_ENTRIES) return { names: names.sort(inOrder), more: true }
    names.push(name)
  }
  return { names: names.sort(inOrder), more: false }
}

const inOrder = (one: string, other: string): number => one.length - other.length || (one < other ? -1 : 1)

/** Returns the first file of an entry. */
function fileIn(directory: string): { readonly path: string; readonly name: string } | undefined {
  for (const name of namesIn(directory)) return { path: `${directory}/${name}`, name }
  return undefined
}

/** Yields the names in a directory one at a time, because there may be more than memory holds. */
function* namesIn(path: string): Generator<string> {
  const directory = tried(() => opendirSync(nativePath(path), { encoding: 'latin1' }))
  if (directory === undefined) return
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) yield entry.name
  } finally {
    directory.closeSync()
  }
}

function remove(path: string): void {
  attempt(() => rmSync(nativePath(path), { recursive: true, force: true }))
}

/** Returns false if the call failed; the owner of the tree may make any of them impossible. */
function attempt(call: () => void): boolean {
  return (
    tried(() => {
      call()
      return true
    }) === true
  )
}
