/**
 * The program beside a tree: seals, restores or clears the tree at `/tree` as the tree's owner, or empties its outbox,
 * told by a worker over standard input and answering on standard output (`protocol.ts`). It is started in a sandbox of
 * its own, which shows it the tree and nothing else of the service.
 */
import { clear } from './clear.ts'
import { readFrame, writeFrame } from './frames.ts'
import { emptyOutbox } from './outbox.ts'
import { frameTypes, maxFrameBytes, TreeError, type TreeFailure, type TreeJob, treePath } from './protocol.ts'
import { restore } from './restore.ts'
import { seal } from './seal.ts'

const IN = 0
const OUT = 1

async function run(): Promise<object> {
  const first = readFrame(IN, maxFrameBytes)
  if (first.type !== frameTypes.job) throw new Error('no job came')
  // The worker's own words, from the same release.
  const job: TreeJob = JSON.parse(first.payload.toString())
  process.umask(0)
  process.chdir(treePath)
  switch (job.kind) {
    case 'seal':
      return seal(job, OUT)
    case 'restore':
      return restore(job, () => readFrame(IN, maxFrameBytes), OUT)
    case 'clear':
      clear(job.keep)
      return {}
    case 'outbox':
      emptyOutbox(job, () => readFrame(IN, maxFrameBytes), OUT)
      return {}
  }
}

function failureOf(error: unknown): TreeFailure {
  if (error instanceof TreeError) return error.failure
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  if (code === 'ENOSPC' || code === 'EDQUOT') return { code: 'no_space' }
  const syscall = error instanceof Error && 'syscall' in error ? String(error.syscall) : ''
  // Messages of system errors hold paths, which are the user's own.
  return { code: 'system', message: code === undefined ? String(error) : `${code} ${syscall}`.trim() }
}

async function main(): Promise<void> {
  try {
    const done = await run()
    writeFrame(OUT, frameTypes.done, Buffer.from(JSON.stringify(done)))
  } catch (error) {
    writeFrame(OUT, frameTypes.failed, Buffer.from(JSON.stringify(failureOf(error))))
  }
  process.exit(0)
}

void main()
