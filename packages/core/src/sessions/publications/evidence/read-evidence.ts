import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { sumModels } from '../../../accounting/model-shares.ts'
import { namesOf } from '../../../accounts/names.ts'
import type { Context } from '../../../context.ts'
import { readFixedDocument } from '../../../environments/fix-environment.ts'
import { type DecisionRow, listDecisions } from '../../interactions/decision-sql.ts'
import { requestOf } from '../../interactions/interaction.ts'
import { readReview } from '../../reviews/read-review.ts'
import { findReview } from '../../reviews/review-sql.ts'
import { findSession } from '../../session/session-sql.ts'
import { findNewestResult } from '../../verifications/verification-sql.ts'
import type { PublicationRow } from '../publication.ts'
import type { Decided, Evidence, VerifiedBy } from './evidence.ts'
import { findFirstRevision } from './evidence-sql.ts'

/**
 * Reads what is known of a Publication's change: its checks, signals, people, models and cost.
 * @throws an error of the store
 */
export async function readEvidence(context: Context, key: SessionKey, row: PublicationRow): Promise<Evidence> {
  const { db, baseUrl, consoleUrl } = context
  const [session, review] = await Promise.all([findSession(db, key), findReview(db, key, row.revision)])
  if (session === null || review === null) throw new Error(`no review ${row.revision}`)
  const [verification, { signals }, decisions, models] = await Promise.all([
    readVerified(context, key, row.revision),
    readReview(context, key, review),
    listDecisions(db, key),
    sumModels(db, key),
  ])
  const ids = decisions.flatMap(({ by_id }) => (by_id === null ? [] : [by_id]))
  const names = await namesOf(db, key.organizationId, [...new Set([...ids, session.owner_id])])
  const statement = `${baseUrl}/v1/sessions/${key.sessionId}/publications/${row.id}/statement`
  return {
    verification,
    signals,
    requester: row.author?.name ?? names.get(session.owner_id) ?? null,
    decisions: groupDecisions(decisions, names),
    models,
    links: {
      review: `${consoleUrl}/sessions/${key.sessionId}/review`,
      statement: row.verification_id === null ? null : statement,
    },
  }
}

async function readVerified({ db }: Context, key: SessionKey, revision: string): Promise<VerifiedBy | null> {
  const row = await findNewestResult(db, key, revision)
  if (row === null || (row.state !== 'passed' && row.state !== 'failed')) return null
  const at = { organizationId: key.organizationId, environmentId: row.environment_id }
  const first = (await findFirstRevision(db, key, row.environment_id)) ?? row.environment_revision
  const [before, { name, checks }] = await Promise.all([
    readFixedDocument(db, at, Math.min(first, row.environment_revision)),
    readFixedDocument(db, at, row.environment_revision),
  ])
  // A check under its name that is not required any more, or runs something else, is another.
  const stands = before.checks.filter(old =>
    checks.some(check => check.name === old.name && check.run === old.run && check.required !== false),
  )
  return {
    state: row.state,
    tree: row.tree,
    environment: { name, revision: row.environment_revision },
    checks: row.results,
    removed: before.checks.filter(old => old.required !== false && !stands.includes(old)).map(old => old.name),
  }
}

function groupDecisions(rows: readonly DecisionRow[], names: ReadonlyMap<string, string>): readonly Decided[] {
  const groups = new Map<string, Decided>()
  for (const { kind, request, choice, resolution, by_id } of rows) {
    const by = names.get(by_id ?? '') ?? null
    const allowed = kind === 'approval' ? choice !== 'deny' : resolution === 'approved'
    const tool = kind === 'approval' ? (requestOf({ request }).approval?.toolName ?? '') : null
    const group = JSON.stringify([by, allowed, tool])
    groups.set(group, { by, allowed, tool, times: (groups.get(group)?.times ?? 0) + 1 })
  }
  // What was denied is never hidden by a bound.
  return [...groups.values()].toSorted((a, b) => Number(a.allowed) - Number(b.allowed) || b.times - a.times)
}
