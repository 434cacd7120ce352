import { randomUUID } from 'node:crypto'
import { type CreateVerification, environmentLimits, type Verification } from '@berth/contract'
import { invalidField, refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import { requestHash } from '@berth/platform/kit/request-hash.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import { readStored } from '../../environments/document.ts'
import { findEnvironment, lockOrganization } from '../../environments/environment-sql.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { requireCompute } from '../../runtimes/own-hosts.ts'
import { requestWorkspace } from '../leases/workspace-request-sql.ts'
import { appendEvents } from '../log/append.ts'
import { findWholeReview } from '../reviews/review-sql.ts'
import { lockVisibleSession } from '../session/read-session.ts'
import type { SessionRow } from '../session/session.ts'
import { insertSession, lockSession } from '../session/session-sql.ts'
import { digestOfChecks, toVerification, verificationEvent } from './verification.ts'
import {
  countOpenVerifications,
  findSameVerification,
  findVerification,
  insertVerification,
  listOpenRevisions,
} from './verification-sql.ts'

/** The runtime whose sandbox is used if there is one: it needs no model. */
const PLAIN_RUNTIME = 'shell'

/**
 * Admits the verification of a reviewed revision: a hidden Session with the base of the revision, and a request for its
 * workspace. The worker that answers the request applies the environment, brings the checkout to the revision's tree and
 * runs the checks. If the Session has a result of the same checks on the same tree, it ends with that at once.
 * @throws ApiError 404 `cloud_session_not_found`
 * @throws ApiError 409 `cloud_verification_conflict`, `cloud_repository_required`, `cloud_checks_required`,
 *   `quota_exceeded`, or for the compute
 * @throws ApiError 400 if the Session never made the revision
 */
export async function admitVerification(
  context: Context,
  principal: Principal,
  key: SessionKey,
  id: string,
  body: CreateVerification,
): Promise<{ created: boolean; verification: Verification }> {
  return admitFor(context, principal, key, id, body, tx => lockVisibleSession(tx, principal, key))
}

/**
 * Admits one that the service itself needs, in the name of whoever it works for.
 * @throws ApiError as `admitVerification`
 */
export async function admitVerificationFor(
  context: Context,
  by: Pick<Principal, 'kind' | 'id'>,
  key: SessionKey,
  id: string,
  body: CreateVerification,
): Promise<void> {
  await admitFor(context, by, key, id, body, async tx => {
    const session = await lockSession(tx, key)
    if (session === null) throw sessionNotFound()
    return session
  })
}

async function admitFor(
  context: Context,
  by: Pick<Principal, 'kind' | 'id'>,
  key: SessionKey,
  id: string,
  body: CreateVerification,
  lock: (tx: Queryable) => Promise<SessionRow>,
): Promise<{ created: boolean; verification: Verification }> {
  const { clock, db, wakeups } = context
  if ((await findVerification(db, key, id)) === null) await requireCompute(db, key.organizationId)
  const now = clock.now()
  const hash = requestHash(body)
  const admitted = await db.transaction(async tx => {
    // Of those asked for at the same moment exactly as many are admitted as there is room for.
    await lockOrganization(tx, key.organizationId)
    const session = await lock(tx)
    const known = await findVerification(tx, key, id)
    if (known !== null) {
      if (!known.request_hash.equals(hash)) throw refusal('cloud_verification_conflict')
      return { created: false, row: known }
    }
    if (session.archived_at !== null) throw sessionNotFound()
    if (session.source === null) throw refusal('cloud_repository_required')
    const review = await findWholeReview(tx, key, body.revision)
    if (review === null) {
      throw invalidField(['revision'], 'is not a revision that this Session has made lately; read its review first')
    }
    const environment =
      session.environment_id === null
        ? null
        : await findEnvironment(tx, { organizationId: key.organizationId, environmentId: session.environment_id })
    const checks = environment === null ? [] : readStored(environment.document).checks
    if (environment === null || checks.length === 0) throw refusal('cloud_checks_required')
    const checked = {
      tree: review.head_tree,
      environment_id: environment.id,
      environment_revision: environment.revision,
      checks_digest: digestOfChecks(checks, review.base_tree),
    }
    const request = {
      organization_id: key.organizationId,
      session_id: key.sessionId,
      id,
      request_hash: hash,
      revision: review.revision,
      ...checked,
      requested_by_kind: by.kind,
      requested_by_id: by.id,
      created_at: now,
    }
    const same = body.fresh ? null : await findSameVerification(tx, key, checked)
    if (same !== null) {
      const reused_from = same.reused_from ?? same.id
      const { state, results, started_at } = same
      const ends = { state, results, started_at, reused_from, sandbox_id: null, ended_at: now }
      const row = await insertVerification(tx, { ...request, ...ends })
      await appendEvents(tx, key, [verificationEvent(row)], now)
      return { created: true, row }
    }
    const open = await listOpenRevisions(tx, key)
    const all = await countOpenVerifications(tx, key.organizationId)
    if (open.length >= environmentLimits.verifications || all >= environmentLimits.verificationsOfOrganization) {
      throw refusal('quota_exceeded')
    }
    const begins = { state: 'queued', results: [], started_at: null, reused_from: null, ended_at: null } as const
    const sandbox_id = await hideSession(tx, context, session, review.base_oid, now)
    return { created: true, row: await insertVerification(tx, { ...request, ...begins, sandbox_id }) }
  })
  if (admitted.created) wakeups.publish(topics.queue, topics.session(key.organizationId, key.sessionId))
  return { created: admitted.created, verification: toVerification(admitted.row) }
}

/** Makes the Session that nobody sees, with the owner whose grants reach the repository. No Turn ever reaches it. */
async function hideSession(
  tx: Queryable,
  { runtimes }: Context,
  session: SessionRow,
  baseOid: string,
  now: Date,
): Promise<string> {
  const key = { organizationId: session.organization_id, sessionId: randomUUID() }
  await insertSession(tx, {
    key,
    owner: { kind: session.owner_kind, id: session.owner_id },
    initiatedBy: session.initiated_by,
    requestHash: requestHash({ verified: session.id }),
    title: 'Verification of a revision',
    origin: null,
    source: { ...session.source, baseOid },
    model: null,
    effort: null,
    runtime: runtimes.find(PLAIN_RUNTIME) === null ? null : PLAIN_RUNTIME,
    environmentId: session.environment_id,
    isTrial: true,
    now,
  })
  await requestWorkspace(tx, key, now)
  return key.sessionId
}
