import type { Fixed } from './fixed.ts'

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

export const readStreams = (fixed: Fixed): StreamSettings => ({
  perAuthority: fixed.streamsPerAuthority,
  perProcess: fixed.streamsPerProcess,
  life: { minMs: fixed.streamMinMs, maxMs: fixed.streamMaxMs, authorityMs: fixed.streamAuthorityMs },
})
