import { StartError } from '../kit/start-error.ts'
import type { Environment } from './environment.ts'

/** Limits on the number and the life of open event streams. */
export interface StreamSettings {
  /** For each principal, over all processes. */
  readonly perAuthority: number
  readonly perProcess: number
  readonly life: {
    /** Least age at which a stream may end. Each ends at a random age, and its client resumes it. */
    readonly minMs: number
    /** Greatest age at which a stream ends. */
    readonly maxMs: number
    /** A stream ends within this long after its credential was revoked. */
    readonly authorityMs: number
  }
}

export function readStreams(env: Environment): StreamSettings {
  const perAuthority = env.integer(
    'BERTH_STREAMS_PER_AUTHORITY',
    64,
    'Streams that one authority may have open, over all processes.',
  )
  const perProcess = env.integer('BERTH_STREAMS_PER_PROCESS', 256, 'Streams that this process may have open.')
  const minMs = env.duration(
    'BERTH_STREAM_MIN_SECONDS',
    300,
    'Least age at which a stream ends; each ends at a random age, for its client to resume.',
  )
  const maxMs = env.duration('BERTH_STREAM_MAX_SECONDS', 600, 'Greatest age at which a stream ends.')
  const authorityMs = env.duration(
    'BERTH_STREAM_AUTHORITY_SECONDS',
    10,
    'An open stream ends within this long after its credential was revoked.',
  )
  if (minMs > maxMs) throw new StartError('BERTH_STREAM_MIN_SECONDS must not be above BERTH_STREAM_MAX_SECONDS')
  return { perAuthority, perProcess, life: { minMs, maxMs, authorityMs } }
}
