import { StartError } from '../kit/start-error.ts'
import type { Environment } from './environment.ts'

/** How many event streams may be open, and how long each lives. */
export interface StreamSettings {
  /** Of each principal, over all processes. */
  readonly perAuthority: number
  readonly perProcess: number
  readonly life: {
    /** A stream ends at a random age from here … */
    readonly minMs: number
    /** … to here, and its client resumes it. */
    readonly maxMs: number
    /** A stream ends within this long of the revocation of its credential. */
    readonly authorityMs: number
  }
}

export function readStreams(env: Environment): StreamSettings {
  const perAuthority = env.integer(
    'BERTH_STREAMS_PER_AUTHORITY',
    64,
    'Event streams open at once, for each principal, over all processes.',
  )
  const perProcess = env.integer('BERTH_STREAMS_PER_PROCESS', 256, 'Event streams open at once in this process.')
  const minMs = env.duration(
    'BERTH_STREAM_MIN_SECONDS',
    300,
    'Event streams are ended to be resumed, each at a random age: the least.',
  )
  const maxMs = env.duration(
    'BERTH_STREAM_MAX_SECONDS',
    600,
    'Event streams are ended to be resumed, each at a random age: the most.',
  )
  const authorityMs = env.duration(
    'BERTH_STREAM_AUTHORITY_SECONDS',
    10,
    'An open event stream ends within this long of the revocation of its credential.',
  )
  if (minMs > maxMs) throw new StartError('BERTH_STREAM_MIN_SECONDS must not be above BERTH_STREAM_MAX_SECONDS')
  return { perAuthority, perProcess, life: { minMs, maxMs, authorityMs } }
}
