import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Queryable, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** A person's account at a Git host. */
export interface HostPersonRow {
  readonly id: string
  readonly person_id: string
  /** Id of a `GitHost`. */
  readonly host: string
  readonly provider: string
  readonly account: string
  readonly login: string
  /** Sealed; null if the host no longer takes them. */
  readonly tokens: Buffer | null
  readonly renew_at: Date | null
  readonly created_at: Date
}

const columns = 'id, person_id, host, provider, account, login, tokens, renew_at, created_at'

export async function listHostPeople(db: Queryable, personId: string): Promise<HostPersonRow[]> {
  return await queryRows<HostPersonRow>(db, {
    name: 'list-host-people',
    text: `select ${columns} from host_people where person_id = $1 order by created_at, id`,
    values: [personId],
  })
}

export async function findHostPerson(
  db: Queryable,
  personId: string,
  by: { readonly id: string } | { readonly host: string },
): Promise<HostPersonRow | null> {
  const [column, value] = 'id' in by ? ['id', by.id] : ['host', by.host]
  return await queryRow<HostPersonRow>(db, {
    name: `find-host-person-by-${column}`,
    text: `select ${columns} from host_people where person_id = $1 and ${column} = $2`,
    values: [personId, value],
  })
}

/** Adds an account in place of the one that the person had at the host. @returns the one that it replaces */
export async function putHostPerson(
  tx: Queryable,
  row: HostPersonRow,
): Promise<Pick<HostPersonRow, 'id' | 'host' | 'tokens'> | null> {
  const { rows } = await tx.query<Pick<HostPersonRow, 'id' | 'host' | 'tokens'>>({
    name: 'drop-host-person-of-host',
    text: 'delete from host_people where person_id = $1 and host = $2 returning id, host, tokens',
    values: [row.person_id, row.host],
  })
  await tx.query({
    name: 'insert-host-person',
    text: `insert into host_people (${columns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [
      row.id,
      row.person_id,
      row.host,
      row.provider,
      row.account,
      row.login,
      row.tokens,
      row.renew_at,
      row.created_at,
    ],
  })
  return rows[0] ?? null
}

export async function deleteHostPerson(db: Queryable, personId: string, id: string): Promise<HostPersonRow | null> {
  return await queryRow<HostPersonRow>(db, {
    name: 'delete-host-person',
    text: `delete from host_people where person_id = $1 and id = $2 returning ${columns}`,
    values: [personId, id],
  })
}

/** Accounts whose tokens are to be renewed, which one process does at a time. `$4` is the account. */
export const claimedRenewals = new ClaimedRows<HostPersonRow>({
  table: 'host_people',
  key: ['id'],
  due: 'r.id = $4 and r.tokens is not null and r.renew_at <= $1',
})

/** Records that the host takes tokens no more; not if they were replaced meanwhile. */
export async function expireTokens(db: Queryable, { id, tokens }: HostPersonRow): Promise<void> {
  await db.query({
    name: 'expire-host-person-tokens',
    text: 'update host_people set tokens = null, renew_at = null where id = $1 and tokens = $2',
    values: [id, tokens],
  })
}
