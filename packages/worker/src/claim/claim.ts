import type { RunRow } from '@berth/core/sessions/runs/run.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'

/** This worker's hold on the execution of a Session, proven by its token. */
export interface Claim extends SessionKey {
  readonly token: number
  readonly holder: string
  /** The Run that is executed or sealed; null while only a workspace is restored. */
  readonly runId: string | null
}

/** A claim of a Run. */
export interface RunClaim extends Claim {
  readonly runId: string
  readonly run: RunRow
  /** True if the Run's authority ended before the claim. */
  readonly revoked: boolean
}

/** A fresh claim, and the host of the Session's live lease; null without one. */
export type Taken<Kind extends Claim> = Kind & { readonly leaseHost: string | null }

/** The purpose of an execution: a Run, the sealing of an ended Run, or the restore of a workspace. */
export type Task = 'run' | 'seal' | 'restore'

/** This worker no longer holds the claim; the fence refuses its writes. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}

/** This worker stops; its agents go on and other workers take over. */
export class WorkerStopping extends Error {
  override readonly name = 'WorkerStopping'
}
