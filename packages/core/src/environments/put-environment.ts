import { type EnvironmentDraft, environmentLimits, type Issue } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { readEgressPolicy } from '../accounts/organizations/egress-policy.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { listOwnedArchives } from './archives/archive-sql.ts'
import { completeDocument, documentText, foldName, type StoredDocument } from './document.ts'
import { documentFaults, pinFaults } from './document-rules.ts'
import { conflict } from './environment-conflict.ts'
import {
  countLiveEnvironments,
  type EnvironmentKey,
  type EnvironmentRow,
  findEnvironment,
  insertEnvironment,
  insertRevision,
  isNameTaken,
  lockEnvironment,
  lockOrganization,
} from './environment-sql.ts'
import type { ExtensionCatalog } from './extensions/catalog.ts'
import { recordChange } from './record-change.ts'
import { authorOf, nameTaken, requireNewest, revise } from './revise.ts'

/** What documents are held against and written to. */
export interface Documents extends Pick<Context, 'db' | 'clock' | 'runtimes'> {
  readonly catalog: ExtensionCatalog
  /** Hosts that the operator opens to sandboxes; absent: every public one. */
  readonly openHosts?: readonly string[] | undefined
}

/**
 * Creates an environment, or replaces its newest revision. A document equal to the newest one changes nothing, whatever
 * revision the caller has seen.
 * @param seen the revision that `If-Match` names; null if it was not sent
 * @throws ApiError 400 `environment_invalid`, 404 if `seen` names a revision of nothing, 409, 428, 503
 */
export async function putEnvironment(
  { db, clock, runtimes, catalog }: Documents,
  principal: Principal,
  key: EnvironmentKey,
  draft: EnvironmentDraft,
  seen: number | null,
): Promise<{ readonly created: boolean; readonly row: EnvironmentRow }> {
  const document = completeDocument(draft)
  const author = authorOf(principal)
  const slugs = await catalog.slugsFor(document)
  return await db.transaction(async tx => {
    const now = clock.now()
    // A name may be new, and so may the environment: the organization's lock goes before the environment's.
    await lockOrganization(tx, key.organizationId)
    const row = await lockEnvironment(tx, key)
    if (row === null && seen !== null) throw refusal('environment_not_found')
    const pins = row?.secrets ?? []
    if (documentText(document) === row?.document) {
      // Only the pins are judged: the rest was sound when it was written, and the deployment may have changed since.
      requireNone(pinFaults(draft.secrets, pins))
      return { created: false, row }
    }
    const archives = await listOwnedArchives(tx, key)
    const policy = await readEgressPolicy(tx, key.organizationId)
    const surroundings = { pins, conversations: runtimes.states, archives, catalog: slugs, policy }
    requireSound(document, draft.secrets, surroundings)
    if (row === null) return { created: true, row: await create(tx, key, document, { author, now }) }
    if (seen === null) throw refusal('precondition_required')
    if (row.archived_at !== null) throw conflict('the environment is archived')
    requireNewest(row, seen)
    return { created: false, row: await revise(tx, key, row, { document }, author, now) }
  })
}

/** @throws ApiError 400 `environment_invalid` */
export function requireSound(
  document: StoredDocument,
  sent: EnvironmentDraft['secrets'],
  surroundings: Parameters<typeof documentFaults>[2],
): void {
  requireNone(documentFaults(document, sent, surroundings))
}

function requireNone(issues: readonly Issue[]): void {
  if (issues.length > 0) throw refusal('environment_invalid', { issues })
}

/** @throws ApiError 409 `quota_exceeded` if the organization has as many live environments as it may */
export async function requireRoom(tx: Queryable, organizationId: string): Promise<void> {
  if ((await countLiveEnvironments(tx, organizationId)) >= environmentLimits.live) throw refusal('quota_exceeded')
}

async function create(
  tx: Queryable,
  key: EnvironmentKey,
  document: StoredDocument,
  made: Pick<Parameters<typeof insertRevision>[2], 'author' | 'now'>,
): Promise<EnvironmentRow> {
  const foldedName = foldName(document.name)
  if (await isNameTaken(tx, key, foldedName)) throw nameTaken()
  await requireRoom(tx, key.organizationId)
  await insertEnvironment(tx, key, document.name, foldedName)
  await insertRevision(tx, key, { ...made, revision: 1, document: documentText(document) })
  await recordChange(tx, key, made.author, 'environment.written', { revision: 1 }, made.now)
  const row = await findEnvironment(tx, key)
  if (row === null) throw new Error(`environment ${key.environmentId} is gone under its lock`)
  return row
}
