import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { writeFrame } from './frames.ts'
import { nativePath } from './native-path.ts'
import { frameTypes, type Inspected, type InspectedEntry, type InspectJob } from './protocol.ts'
import { tried } from './tried.ts'

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/**
 * Looks at one path of the tree: lists a directory, or hands out a range of a file. Links are followed within the tree
 * only, and nothing but directories and regular files is opened, so a pipe that nobody writes to never holds this up.
 *
 * The owner of the tree may change it meanwhile. At worst it makes this program read what the owner itself, or
 * everybody, can read: nothing else is visible here.
 */
export function inspect(job: InspectJob, tree: string, out: number): Inspected {
  const at = tried(() => realpathSync.native(nativePath(job.path === '' ? '.' : job.path), { encoding: 'latin1' }))
  if (at === undefined) return { found: 'nothing' }
  if (at !== tree && !at.startsWith(`${tree}/`)) return { found: 'elsewhere' }
  const stats = tried(() => lstatSync(nativePath(at)))
  if (stats === undefined) return { found: 'nothing' }
  if (stats.isDirectory()) return list(at, job.entries)
  return stats.isFile() ? read(at, job, out) : { found: 'special' }
}

function list(directory: string, most: number): Inspected {
  const opened = tried(() => opendirSync(nativePath(directory), { encoding: 'latin1' }))
  if (opened === undefined) return { found: 'nothing' }
  const entries: InspectedEntry[] = []
  let more = false
  try {
    for (let next = opened.readSync(); next !== null; next = opened.readSync()) {
      if (entries.length === most) {
        more = true
        break
      }
      const path = `${directory}/${next.name}`
      const stats = tried(() => lstatSync(nativePath(path)))
      if (stats !== undefined) entries.push(entryOf(path, next.name, stats))
    }
  } finally {
    opened.closeSync()
  }
  return { found: 'directory', entries, more }
}

function entryOf(path: string, name: string, stats: Stats): InspectedEntry {
  if (stats.isDirectory()) return { name, kind: 'directory' }
  if (stats.isFile()) return { name, kind: 'file', sizeBytes: stats.size }
  if (!stats.isSymbolicLink()) return { name, kind: 'special' }
  const target = tried(() => readlinkSync(nativePath(path), { encoding: 'latin1' })) ?? ''
  return { name, kind: 'link', target }
}

function read(path: string, { offset, bytes }: InspectJob, out: number): Inspected {
  const fd = tried(() => openSync(nativePath(path), READ))
  if (fd === undefined) return { found: 'nothing' }
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) return { found: 'special' }
    const buffer = Buffer.alloc(Math.max(0, Math.min(bytes, stats.size - offset)))
    let have = 0
    while (have < buffer.length) {
      const got = readSync(fd, buffer, have, buffer.length - have, offset + have)
      if (got === 0) break
      have += got
    }
    writeFrame(out, frameTypes.content, buffer.subarray(0, have))
    return { found: 'file', sizeBytes: stats.size }
  } finally {
    closeSync(fd)
  }
}
