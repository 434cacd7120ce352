import type { EnvironmentAuthor } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { documentText, foldName, type StoredDocument } from './document.ts'
import { conflict } from './environment-conflict.ts'
import {
  type EnvironmentKey,
  type EnvironmentRow,
  findEnvironment,
  insertRevision,
  isNameTaken,
  lockEnvironment,
  lockOrganization,
  updateEnvironment,
} from './environment-sql.ts'
import { settleProposedHosts } from './proposed-hosts.ts'
import { recordChange } from './record-change.ts'

/** What a revision changes; the rest stays as in the revision before. */
export interface Revision {
  readonly document?: StoredDocument
  readonly isDefault?: boolean
  readonly archivedAt?: Date | null
}

/** A write of an environment that exists. */
export interface Write {
  /** The revision that the caller has seen, from `If-Match`. */
  readonly seen: number
  /** Returns whether the environment is as asked already, so that a lost answer can be asked for again. */
  readonly isDone: (row: EnvironmentRow) => boolean
  /** Whether it may write an archived environment. */
  readonly unarchives?: boolean
  /** Whether it may bring a name or a live environment: both are judged under the organization's lock. */
  readonly locksOrganization?: boolean
  /** Decides under the environment's lock what the next revision changes. */
  readonly decide: (tx: Queryable, row: EnvironmentRow, now: Date) => Promise<Revision>
}

export const authorOf = ({ kind, id }: Principal): EnvironmentAuthor => ({
  kind: kind === 'person' ? 'person' : 'installation',
  id,
})

/**
 * Writes the next revision of an environment, if the caller has seen the newest one.
 * @throws ApiError 404 `environment_not_found`
 * @throws ApiError 409 `environment_conflict` if the environment is archived or has another revision, or its name is taken
 */
export async function writeEnvironment(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  principal: Principal,
  key: EnvironmentKey,
  { seen, isDone, unarchives = false, locksOrganization = false, decide }: Write,
): Promise<EnvironmentRow> {
  return await db.transaction(async tx => {
    const now = clock.now()
    if (locksOrganization) await lockOrganization(tx, key.organizationId)
    const row = await lockEnvironment(tx, key)
    if (row === null) throw refusal('environment_not_found')
    if (isDone(row)) return row
    if (row.archived_at !== null && !unarchives) throw conflict('the environment is archived')
    requireNewest(row, seen)
    return await revise(tx, key, row, await decide(tx, row, now), authorOf(principal), now)
  })
}

/** @throws ApiError 409 `environment_conflict` if the caller has seen another revision than the newest */
export function requireNewest({ revision }: EnvironmentRow, seen: number): void {
  if (revision !== seen) throw conflict(`the newest revision is ${revision}`)
}

/**
 * Writes the next revision. The caller holds the environment's lock, and the organization's if the name may collide.
 * @throws ApiError 409 `environment_conflict` if a live environment has the name
 */
export async function revise(
  tx: Queryable,
  key: EnvironmentKey,
  row: EnvironmentRow,
  change: Revision,
  author: EnvironmentAuthor,
  now: Date,
): Promise<EnvironmentRow> {
  const { document, isDefault = row.is_default, archivedAt = row.archived_at } = change
  const name = document?.name ?? row.name
  const foldedName = foldName(name)
  const revision = row.revision + 1
  const entersNames = foldedName !== row.folded_name || (row.archived_at !== null && archivedAt === null)
  if (entersNames && archivedAt === null && (await isNameTaken(tx, key, foldedName))) throw nameTaken()
  await updateEnvironment(tx, key, { name, foldedName, revision, isDefault, archivedAt })
  await insertRevision(tx, key, {
    revision,
    document: document === undefined ? row.document : documentText(document),
    author,
    now,
  })
  if (document !== undefined) await settleProposedHosts(tx, key, document.network.hosts)
  await recordChange(
    tx,
    key,
    author,
    'environment.written',
    { revision, isDefault, archived: archivedAt !== null },
    now,
  )
  const written = await findEnvironment(tx, key)
  if (written === null) throw new Error(`environment ${key.environmentId} is gone under its lock`)
  return written
}

export const nameTaken = () => conflict('a live environment has this name')
