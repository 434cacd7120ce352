import type { EnvironmentAuthor } from '@berth/contract'
import { type Queryable, queryAny, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { StoredArchive } from './archives/archive-sql.ts'
import { archivesOf } from './document.ts'
import type { StoredPin } from './secret-exposure.ts'
import type { JudgedPin } from './warnings.ts'

/** A secret that the newest revision pins, with the length of its value in bytes. */
export interface SizedPin extends JudgedPin {
  readonly size_bytes: number
}

/** Names an environment: its id is unique within its organization only. */
export interface EnvironmentKey {
  readonly organizationId: string
  readonly environmentId: string
}

/** An environment with its newest revision. */
export interface EnvironmentRow {
  readonly id: string
  readonly name: string
  readonly folded_name: string
  readonly revision: number
  readonly is_default: boolean
  readonly archived_at: Date | null
  readonly document: string
  readonly secrets: readonly SizedPin[]
  /** What the document names, in its order. */
  readonly archives: readonly StoredArchive[]
  readonly created_by_kind: EnvironmentAuthor['kind']
  readonly created_by_id: string
  readonly created_at: Date
}

export type RevisionRow = Pick<
  EnvironmentRow,
  'revision' | 'document' | 'created_by_kind' | 'created_by_id' | 'created_at'
> & { readonly secrets: readonly StoredPin[] }

const selectFrom = (environments: string): string => `
  select e.id, e.name, e.folded_name, e.revision, e.is_default, e.archived_at, r.document, r.created_by_kind,
    r.created_by_id, r.created_at, (
      select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('name', s.name, 'version', s.version,
        'size_bytes', s.size_bytes, 'masked', s.masked, 'egress', s.egress)) order by s.name), '[]')
      from environment_secrets s
      where s.organization_id = e.organization_id and s.environment_id = e.id and s.ended_at is null
    ) as secrets, (
      select coalesce(jsonb_agg(jsonb_build_object('sha256', a.sha256, 'size_bytes', a.size_bytes,
        'extension', a.extension, 'brings_nothing', a.brings_nothing)
        order by array_position(r.archives, a.sha256)), '[]')
      from environment_archives a
      where a.organization_id = e.organization_id and a.environment_id = e.id and a.sha256 = any(r.archives)
    ) as archives
  from ${environments} e
  join environment_revisions r
    on r.organization_id = e.organization_id and r.environment_id = e.id and r.revision = e.revision`

export async function findEnvironment(db: Queryable, key: EnvironmentKey): Promise<EnvironmentRow | null> {
  return await queryRow<EnvironmentRow>(db, {
    name: 'find-environment',
    text: `${selectFrom('environments')} where e.organization_id = $1 and e.id = $2`,
    values: [key.organizationId, key.environmentId],
  })
}

/**
 * Takes the lock under which an environment is written, and reads it in a second statement: one that waited for the lock
 * would join a revision from before the wait.
 */
export async function lockEnvironment(tx: Queryable, key: EnvironmentKey): Promise<EnvironmentRow | null> {
  await tx.query({
    name: 'lock-environment',
    text: 'select 1 from environments where organization_id = $1 and id = $2 for no key update',
    values: [key.organizationId, key.environmentId],
  })
  return findEnvironment(tx, key)
}

/** Takes the lock under which the environments of an organization are counted and its default is chosen. */
export async function lockOrganization(tx: Queryable, organizationId: string): Promise<void> {
  await tx.query({
    name: 'lock-organization-of-environments',
    text: 'select 1 from organizations where id = $1 for no key update',
    values: [organizationId],
  })
}

export async function countLiveEnvironments(tx: Queryable, organizationId: string): Promise<number> {
  const { rows } = await tx.query<{ count: number }>({
    name: 'count-live-environments',
    text: 'select count(*)::int as count from environments where organization_id = $1 and archived_at is null',
    values: [organizationId],
  })
  return rows[0]?.count ?? 0
}

/** Returns whether another live environment of the organization has this name. */
export async function isNameTaken(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  foldedName: string,
): Promise<boolean> {
  return await queryAny(tx, {
    name: 'is-environment-name-taken',
    text: `
      select 1 from environments
      where organization_id = $1 and folded_name = $3 and archived_at is null and id <> $2`,
    values: [organizationId, environmentId, foldedName],
  })
}

export async function findDefault(db: Queryable, organizationId: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>({
    name: 'find-default-environment',
    text: 'select id from environments where organization_id = $1 and is_default',
    values: [organizationId],
  })
  return rows[0]?.id ?? null
}

/** Returns those of some ids that environments of the organization have. */
export async function listKnownEnvironments(
  db: Queryable,
  organizationId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const { rows } = await db.query<{ id: string }>({
    name: 'list-known-environments',
    text: 'select id from environments where organization_id = $1 and id = any($2::uuid[])',
    values: [organizationId, ids],
  })
  return new Set(rows.map(({ id }) => id))
}

/** Inserts an environment without a revision; the caller adds the first. */
export async function insertEnvironment(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  name: string,
  foldedName: string,
): Promise<void> {
  await tx.query({
    name: 'insert-environment',
    text: 'insert into environments (organization_id, id, name, folded_name, revision) values ($1, $2, $3, $4, 1)',
    values: [organizationId, environmentId, name, foldedName],
  })
}

/** What a revision changes of its environment's row. */
export interface EnvironmentState {
  readonly name: string
  readonly foldedName: string
  readonly revision: number
  readonly isDefault: boolean
  readonly archivedAt: Date | null
}

export async function updateEnvironment(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  { name, foldedName, revision, isDefault, archivedAt }: EnvironmentState,
): Promise<void> {
  await tx.query({
    name: 'update-environment',
    text: `
      update environments set name = $3, folded_name = $4, revision = $5, is_default = $6, archived_at = $7
      where organization_id = $1 and id = $2`,
    values: [organizationId, environmentId, name, foldedName, revision, isDefault, archivedAt],
  })
}

/** Inserts a revision that pins the secrets as they are now. */
export async function insertRevision(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  made: {
    readonly revision: number
    readonly document: string
    readonly author: EnvironmentAuthor
    readonly now: Date
  },
): Promise<void> {
  await tx.query({
    name: 'insert-environment-revision',
    text: `
      insert into environment_revisions (organization_id, environment_id, revision, document, secrets, created_by_kind,
        created_by_id, created_at, archives)
      select $1, $2, $3, $4, coalesce(jsonb_agg(jsonb_strip_nulls(
          jsonb_build_object('name', name, 'version', version, 'egress', egress)) order by name), '[]'),
        $5, $6, $7, $8
      from environment_secrets where organization_id = $1 and environment_id = $2 and ended_at is null`,
    values: [
      organizationId,
      environmentId,
      made.revision,
      made.document,
      made.author.kind,
      made.author.id,
      made.now,
      archivesOf(JSON.parse(made.document)),
    ],
  })
}

export async function findRevision(
  db: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  revision: number,
): Promise<RevisionRow | null> {
  return await queryRow<RevisionRow>(db, {
    name: 'find-environment-revision',
    text: `
      select revision, document, secrets, created_by_kind, created_by_id, created_at from environment_revisions
      where organization_id = $1 and environment_id = $2 and revision = $3`,
    values: [organizationId, environmentId, revision],
  })
}

/** Lists revisions, newest first. @param before exclusive; null: from the newest */
export async function listRevisions(
  db: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  before: number | null,
  limit: number,
): Promise<readonly RevisionRow[]> {
  return await queryRows<RevisionRow>(db, {
    name: 'list-environment-revisions',
    text: `
      select revision, document, secrets, created_by_kind, created_by_id, created_at from environment_revisions
      where organization_id = $1 and environment_id = $2 and ($3::bigint is null or revision < $3)
      order by revision desc limit $4`,
    values: [organizationId, environmentId, before, limit],
  })
}

/** Lists environments by folded name and id. @param after exclusive; null: from the first */
export async function listEnvironments(
  db: Queryable,
  organizationId: string,
  filter: {
    readonly archived: 'no' | 'both' | 'only'
    readonly after: { readonly foldedName: string; readonly id: string } | null
    readonly limit: number
  },
): Promise<readonly EnvironmentRow[]> {
  const { archived, after, limit } = filter
  return await queryRows<EnvironmentRow>(db, {
    name: 'list-environments',
    text: `
      ${selectFrom('environments')}
      where e.organization_id = $1 and ($2 = 'both' or (e.archived_at is not null) = ($2 = 'only'))
        and ($3::text is null or (e.folded_name, e.id) > ($3, $4::uuid))
      order by e.folded_name, e.id limit $5`,
    values: [organizationId, archived, after?.foldedName ?? null, after?.id ?? null, limit],
  })
}
