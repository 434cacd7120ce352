/**
 * The tree program: it seals, measures, restores, clears or shows the tree at `/tree` as the tree's owner, or empties its outbox. A
 * worker drives it over standard input and output (`protocol.ts`). It runs in its own sandbox, which contains the tree
 * and nothing else of the service. Its one argument names another directory than `/tree`.
 */
import { clear } from './clear.ts'
import { readFrame, writeFrame } from './frames.ts'
import { inspect } from './inspect.ts'
import { measure } from './measure.ts'
import { emptyOutbox } from './outbox.ts'
import { frameTypes, maxFrameBytes, TreeError, type TreeFailure, type TreeJob, treePath } from './protocol.ts'
import { restore } from './restore.ts'
import { seal } from './seal.ts'

const IN = 0
const OUT = 1
const tree = process.argv[2] ?? treePath

async function run(): Promise<object> {
  const first = readFrame(IN, maxFrameBytes)
  if (first.type !== frameTypes.job) throw new Error('the worker sent no job')
  // The worker that sent it is of the same release, so it needs no validation.
  const job: TreeJob = JSON.parse(first.payload.toString())
  process.umask(0)
  process.chdir(tree)
  switch (job.kind) {
    case 'seal':
      return seal(job, OUT)
    case 'restore':
      return restore(job, () => readFrame(IN, maxFrameBytes), OUT)
    case 'clear':
      clear(job)
      return {}
    case 'outbox':
      emptyOutbox(job, () => readFrame(IN, maxFrameBytes), OUT)
      return {}
    case 'inspect':
      return inspect(job, tree, OUT)
    case 'measure':
      return measure(job)
  }
}

function failureOf(error: unknown): TreeFailure {
  if (error instanceof TreeError) return error.failure
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  if (code === 'ENOSPC' || code === 'EDQUOT') return { code: 'no_space' }
  const syscall = error instanceof Error && 'syscall' in error ? String(error.syscall) : ''
  // System errors contain paths, which belong to the user, so report only code and call.
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
