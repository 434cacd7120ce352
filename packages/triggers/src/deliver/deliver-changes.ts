import type { Context } from '@berth/core/context.ts'
import type { Principal } from '@berth/core/identity/guard/principal.ts'
import { admitPublication } from '@berth/core/sessions/publications/admit-publication.ts'
import { findPublication } from '@berth/core/sessions/publications/publication-sql.ts'
import { restoreWorkspace } from '@berth/core/sessions/restore-workspace.ts'
import { findRun } from '@berth/core/sessions/runs/run-sql.ts'
import { findSession } from '@berth/core/sessions/session/session-sql.ts'
import { findTurn } from '@berth/core/sessions/turns/turn-sql.ts'
import { admitVerification } from '@berth/core/sessions/verifications/admit-verification.ts'
import { findVerification } from '@berth/core/sessions/verifications/verification-sql.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { turnOf } from '../admit-delivery.ts'
import type { DeliveryRow } from '../delivery-sql.ts'
import { derivedId } from '../derived-id.ts'
import { readPrincipal } from '../installation-sql.ts'
import type { DueChanges } from './changes-sql.ts'
import { publishCapability } from './judge-deliver.ts'
import { findTitleOfPull } from './published-sql.ts'
import { settleRevision } from './settle-revision.ts'
import { publishedText } from './text-of.ts'

/** How a step ended. */
type Step =
  | { readonly kind: 'further'; readonly columns: Partial<DeliveryRow> }
  | { readonly kind: 'ended'; readonly state: 'published' | 'unchanged' | 'failed'; readonly errorCode: string | null }
  /** The same may succeed later. */
  | { readonly kind: 'not_now'; readonly errorCode: string; readonly retryAfterMs: number }

/** Publications of one delivery: a later one is made if the workspace has moved on since the revision, or is gone. */
const PUBLICATIONS_MOST = 3
const movedOn: ReadonlySet<string> = new Set(['review_changed', 'workspace_expired'])
/** Refusals that end by themselves. */
const passing: ReadonlySet<string> = new Set([
  'cloud_run_in_progress',
  'cloud_session_finalizing',
  'cloud_publication_in_progress',
  'cloud_workspace_expired',
  'quota_exceeded',
])

const failed = (errorCode: string): Step => ({ kind: 'ended', state: 'failed', errorCode })

/**
 * Brings the changes of a delivery's Run one step nearer to their publication. Nothing that the step waits for goes on, as
 * `claimChanges` has seen. What it makes has ids that follow from the delivery, so a try after a crash finds it. The steps:
 *
 * 1. the revision is settled, and recorded before anything is made of it;
 * 2. it is verified, if the trigger asks for that;
 * 3. the workspace is brought back if it has lapsed, and a Publication is admitted;
 * 4. the Publication has ended. If the workspace had moved on, it begins anew.
 */
export async function bringFurther(context: Context, due: DueChanges, signal: AbortSignal): Promise<Step> {
  const { organization_id: organizationId, installation_id: installationId } = due
  const principal = await readPrincipal(context.db, { organizationId, installationId })
  if (principal === null) return failed('authority_revoked')
  if (!principal.capabilities.has(publishCapability)) return failed('insufficient_scope')
  try {
    return await next(context, principal, { organizationId, sessionId: due.session_id }, due, signal)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { code: errorCode, status } = error
    if (status < 500 && status !== 429 && !passing.has(errorCode)) return failed(errorCode)
    return { kind: 'not_now', errorCode, retryAfterMs: Number(error.headers['retry-after'] ?? 0) * 1000 }
  }
}

async function next(
  context: Context,
  principal: Principal,
  key: SessionKey,
  due: DueChanges,
  signal: AbortSignal,
): Promise<Step> {
  const { db, consoleUrl } = context
  const { deliver, revision } = due
  const attempt = `${due.key} ${due.publications}`
  const publicationId = derivedId('publication', due.trigger_id, attempt)
  const made = await findPublication(db, key, publicationId)
  if (made !== null) return afterPublication(due, made)
  const session = await findSession(db, key)
  if (session === null || session.archived_at !== null) return failed('session_archived')
  if (session.source === null) return failed('cloud_repository_required')
  const turn = await findTurn(db, key, turnOf(due))
  const run = turn === null ? null : await findRun(db, key, turn.run_id)
  if (run === null) return failed('session_archived')
  if (run.status !== 'completed') return failed('run_failed')
  if (revision === null) {
    const settled = await settleRevision(context, principal, key, run, signal)
    if (settled === null) return { kind: 'ended', state: 'unchanged', errorCode: null }
    return { kind: 'further', columns: { revision: settled } }
  }
  if (deliver.verified === true) {
    const verificationId = derivedId('verification', due.trigger_id, attempt)
    const verification = await findVerification(db, key, verificationId)
    if (verification === null) {
      await admitVerification(context, principal, key, verificationId, { revision, fresh: false })
    }
    if (verification === null || verification.ended_at === null) {
      return { kind: 'further', columns: { deliver_state: 'verifying', verification_id: verificationId } }
    }
    if (verification.state !== 'passed') return failed(`verification_${verification.state}`)
  }
  await restoreWorkspace(context, principal, key, signal)
  const text = publishedText({
    deliver,
    run,
    session: { title: session.title, url: `${consoleUrl}/sessions/${session.id}` },
    issue: due.event?.number ?? null,
    before: deliver.kind === 'pull_request' ? await findTitleOfPull(db, key) : null,
  })
  await admitPublication(context, principal, key, publicationId, {
    ...text,
    revision,
    delivery: deliver.kind,
    draft: deliver.draft ?? false,
    verified: deliver.verified ?? false,
    ...(deliver.followUp !== undefined && { followUp: deliver.followUp }),
  })
  return { kind: 'further', columns: { deliver_state: 'publishing', publication_id: publicationId } }
}

function afterPublication(
  due: DueChanges,
  { id, ended_at, error_code }: NonNullable<Awaited<ReturnType<typeof findPublication>>>,
): Step {
  // A try before has admitted it, and died before it could say so.
  if (ended_at === null) return { kind: 'further', columns: { deliver_state: 'publishing', publication_id: id } }
  if (due.publication_id !== id) return { kind: 'further', columns: { publication_id: id } }
  if (error_code === null) return { kind: 'ended', state: 'published', errorCode: null }
  if (!movedOn.has(error_code) || due.publications + 1 >= PUBLICATIONS_MOST) return failed(error_code)
  const anew = { revision: null, verification_id: null, publication_id: null, publications: due.publications + 1 }
  return { kind: 'further', columns: { ...anew, deliver_state: 'waiting' } }
}
