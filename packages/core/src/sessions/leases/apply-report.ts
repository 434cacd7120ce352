import type { applyErrorCodes, EventData } from '@berth/contract'
import type { ServerTemplate } from '../../environments/extensions/server-template.ts'
import type { EventDraft } from '../log/envelope.ts'

export type ApplyError = (typeof applyErrorCodes)[number]

type ApplyData = EventData<'svc.environment.apply'>

/**
 * How far an environment is applied to a lease's sandbox. The lease's row holds it, so a worker that takes over knows
 * which steps are done. The members that the terminal Event shows have its names.
 */
export interface ApplyReport
  extends Pick<
    ApplyData,
    | 'cache'
    | 'cacheSkip'
    | 'cacheDiscarded'
    | 'setupExitCode'
    | 'github'
    | 'repositories'
    | 'extensions'
    | 'prebuilt'
    | 'packages'
  > {
  /** When `started` was appended, as an ISO date. */
  readonly startedAt: string
  /** The environment's name in the revision. */
  readonly name: string
  /** The Run whose worker began; absent for a workspace that was asked for. */
  readonly runId?: string
  /** True if a checkpoint was restored into the sandbox. */
  readonly restored: boolean
  /** True if the Session has a launch repository. */
  readonly hasSource: boolean
  /** Names of the steps that are done. */
  readonly done: readonly string[]
  /** Skills of the extensions, as paths below the home, as far as they were copied there. */
  readonly skills?: readonly string[]
  /** The MCP servers of the extensions, for every agent of the lease. */
  readonly servers?: readonly ServerTemplate[]
  readonly output?: ApplyOutput
  /** Offset of the journal behind the last process that has ended. */
  readonly journal?: number
  /** What setup exported to the agent, sealed, in base64. */
  readonly exports?: string
}

/** What clones and setup have written, with secrets masked. */
export interface ApplyOutput {
  /** Bytes of all earlier processes. */
  readonly before: number
  /** Bytes in `svc.environment.output` Events so far; those of the process at work included. */
  readonly reported: number
  /** The last of the text of all earlier processes. */
  readonly tail: string
}

interface AppliedLease {
  readonly id: string
  readonly environment_id: string | null
  readonly environment_revision: number | null
  readonly secrets_left_out: readonly string[]
  readonly apply: ApplyReport | null
}

/** Returns the Event that tells of an apply. */
export function applyEvent(
  { id: leaseId, environment_id, environment_revision, secrets_left_out: leftOut, apply }: AppliedLease,
  status: ApplyData['status'],
  now: Date,
  errorCode?: ApplyError,
): EventDraft {
  if (apply === null || environment_id === null || environment_revision === null)
    throw new Error(`no environment is applied to lease ${leaseId}`)
  const subject = apply.runId === undefined ? {} : { runId: apply.runId }
  const of = {
    leaseId,
    environmentId: environment_id,
    name: apply.name,
    revision: environment_revision,
    ...(leftOut.length > 0 && { secretsLeftOut: leftOut.map(name => ({ name, reason: 'policy' })) }),
  }
  const data = status === 'started' ? { ...of, status } : { ...of, status, ...resultOf(apply, status, now, errorCode) }
  return { type: 'svc.environment.apply', ...subject, data }
}

function resultOf(
  apply: ApplyReport,
  status: ApplyData['status'],
  now: Date,
  errorCode: ApplyError | undefined,
): Partial<ApplyData> {
  const { cache, cacheSkip, cacheDiscarded, setupExitCode, github, repositories, extensions, output } = apply
  const { packages, prebuilt } = apply
  return {
    ...(cache !== undefined && { cache }),
    ...(cacheSkip !== undefined && { cacheSkip }),
    ...(cacheDiscarded !== undefined && { cacheDiscarded }),
    ...(setupExitCode !== undefined && { setupExitCode }),
    durationMs: Math.max(0, now.getTime() - Date.parse(apply.startedAt)),
    ...(output !== undefined && output.tail !== '' && { outputTail: output.tail }),
    ...(errorCode !== undefined && { errorCode }),
    ...(github !== undefined && { github }),
    ...(repositories !== undefined && { repositories }),
    ...(prebuilt !== undefined && { prebuilt }),
    ...(packages !== undefined && { packages }),
    ...(extensions !== undefined && status === 'succeeded' && { extensions }),
  }
}
