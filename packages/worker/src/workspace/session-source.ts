import { setTimeout as sleep } from 'node:timers/promises'
import type { Source } from '@berth/contract'
import { findResumable } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { CheckOutFailed, type CheckoutNames, checkOut, packedRefs } from '@berth/core/git/check-out.ts'
import { GitHostError } from '@berth/core/git-hosts/git-host.ts'
import { loseSource } from '@berth/core/repositories/lost-source.ts'
import { type MirroredCommit, objectsOf } from '@berth/core/repositories/mirrors.ts'
import { reachSource } from '@berth/core/repositories/resolve-source.ts'
import { hasEarlierWork } from '@berth/core/sessions/runs/run-sql.ts'
import { findSession } from '@berth/core/sessions/session/session-sql.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import type { LeaseScript } from '@berth/sandboxes/lease-program.ts'
import type { Claim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'

/** A Session's repository on this host, before its sandbox is made. */
export interface ReadySource {
  readonly source: Source
  readonly commit: MirroredCommit
  /** The bare repository that holds the commit. */
  readonly mirror: string
  /** Returns the names of its clone; the Git host is asked once. */
  readonly names: () => Promise<CheckoutNames>
}

/** The Session's repository is not available; the message is for whoever reads the Run. */
export class SourceUnavailable extends Error {
  override readonly name = 'SourceUnavailable'
}

/** Delays before an unresponsive Git host is asked again; it may ask for longer ones, up to the bound. */
export const hostPausesMs = [500, 2000, 5000] as const
const MAX_PAUSE_MS = 15_000

/** Returns how long to wait for a host that has failed. */
export const pauseAtHost = (pauseMs: number, { retryAfterMs = 0 }: GitHostError): number =>
  Math.min(Math.max(pauseMs, retryAfterMs), MAX_PAUSE_MS)

/**
 * Brings the Session's pinned commit into the mirror on this host. If the Git host refuses it for good and earlier work
 * needs it, the Session records the loss.
 *
 * @returns null for a Session without a repository
 * @throws SourceUnavailable, ClaimLost, or the signal's reason
 */
export async function readySource(
  context: ExecutionContext,
  claim: Claim,
  signal: AbortSignal,
): Promise<ReadySource | null> {
  const session = await findSession(context.db, claim)
  if (session === null || session.source === null) return null
  const { source, owner_id: installationId } = session
  const grantee = { organizationId: claim.organizationId, installationId }
  for (const pauseMs of [...hostPausesMs, null]) {
    try {
      const { host, repository } = await reachSource(context, grantee, source)
      const commit = { organizationId: claim.organizationId, host, repository, oid: source.baseOid }
      const mirror = await context.mirrors.provide(commit, signal)
      // What came into the workspace that is about to be restored: its own repository names it.
      const brought = (await findResumable(context.db, claim))?.brought ?? null
      if (brought !== null) await context.mirrors.provide({ ...commit, oid: brought.baseOid }, signal)
      return { source, commit, mirror, names: once(() => namesOf(source, commit, mirror, signal)) }
    } catch (error) {
      const refused = error instanceof ApiError || (error instanceof GitHostError && !error.passing)
      if (refused) await giveUp(context, claim)
      if (refused || pauseMs === null) throw new SourceUnavailable('the repository is not available', { cause: error })
      if (!(error instanceof GitHostError)) throw error
      context.log.warn({ err: error, sessionId: claim.sessionId }, 'a repository could not be fetched')
      await sleep(pauseAtHost(pauseMs, error), undefined, { signal })
    }
  }
  throw new SourceUnavailable('the repository is not available')
}

/**
 * Puts the repository into a fresh sandbox, in which nothing runs yet.
 *
 * @throws SourceUnavailable, CheckOutFailed
 */
export async function placeSource(
  context: ExecutionContext,
  { commit, mirror, names }: ReadySource,
  leaseId: string,
  signal: AbortSignal,
): Promise<void> {
  const run = (script: LeaseScript) => context.driver.run(leaseId, script)
  const place = { run, objects: objectsOf(mirror), files: 'none', isKept: false } as const
  try {
    await checkOut({ ...place, names: await names() }, signal)
  } catch (error) {
    if (!(error instanceof CheckOutFailed)) throw error
    if (error.refused !== null) {
      throw new SourceUnavailable(`the repository cannot be checked out: ${shortened(error.refused)}`, { cause: error })
    }
    if (error.broken) await context.mirrors.discard(commit, signal)
    throw error
  }
}

/** Returns the names of a clone of a branch. @throws GitError */
export async function namesOf(
  { baseBranch, baseOid }: Pick<Source, 'baseBranch' | 'baseOid'>,
  { host, repository }: MirroredCommit,
  mirror: string,
  signal: AbortSignal,
): Promise<CheckoutNames> {
  const [refs, { cloneUrl }] = await Promise.all([
    packedRefs(mirror, baseBranch, baseOid, signal),
    host.readRepository(repository, signal).catch(error => {
      // Without the host only the remote's address is missing.
      if (error instanceof GitHostError) return { cloneUrl: null }
      throw error
    }),
  ])
  return { branch: baseBranch, originUrl: cloneUrl, refs }
}

/** Returns a function that begins the work when it is first called. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let begun: Promise<T> | undefined
  return () => {
    begun ??= work()
    return begun
  }
}

/** Keeps the beginning and the end of git's words: a path may be as long as it likes. */
function shortened(text: string): string {
  return text.length <= 400 ? text : `${text.slice(0, 200)}…${text.slice(-199)}`
}

async function giveUp(context: ExecutionContext, claim: Claim): Promise<void> {
  if (!(await hasEarlierWork(context.db, claim, claim.runId))) return
  await underFence(context, claim, tx => loseSource(tx, claim, context.clock.now()))
}
