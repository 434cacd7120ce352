import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, expect, it } from 'vitest'
import { readAccountChanges, readAccountSnapshot } from './account-snapshot-sql.ts'
import { CopiedRows } from './copied-rows.ts'
import { applyChanges } from './copy-sql.ts'
import { changeKinds } from './wire.ts'

/** A value of the column in the row at the account service, after a change; the feed brings it to the copy. */
interface Followed {
  readonly becomes: string
}

/** How an API learns of a change of each column that it copies, or that it reads in a copied table. */
type Learning =
  | Followed
  | 'never changes'
  | 'is shown, or orders what is shown'
  | 'is judged over there'
  | 'is of this database'

const now = { becomes: '2026-01-02T03:04:05+00:00' }
const copied: Readonly<Record<string, Readonly<Record<string, Learning>>>> = {
  organizations: {
    id: 'never changes',
    name: { becomes: 'Renamed' },
    created_at: 'never changes',
    suspended_at: now,
    cloud_access: { becomes: 'false' },
    rate_burst: { becomes: '7' },
    rate_per_minute: { becomes: '8' },
  },
  apps: {
    slug: 'never changes',
    name: 'is shown, or orders what is shown',
    created_at: 'never changes',
    organization_id: 'is judged over there',
    reserved: 'is of this database',
    deleted_at: 'is judged over there',
  },
  installations: {
    id: 'never changes',
    organization_id: 'never changes',
    app_slug: 'never changes',
    capabilities: { becomes: '{svc.ai.invoke}' },
    created_at: 'never changes',
    revoked_at: now,
    kind: 'is of this database',
    name: 'is shown, or orders what is shown',
  },
  api_keys: {
    id: 'never changes',
    installation_id: 'never changes',
    kind: 'never changes',
    digest: 'is of this database',
    created_at: 'never changes',
    last_used_at: 'is judged over there',
  },
  people: {
    id: 'never changes',
    email: 'is judged over there',
    name: 'is shown, or orders what is shown',
    created_at: 'never changes',
    disabled_at: now,
    unlinked_at: now,
  },
  memberships: {
    id: 'never changes',
    organization_id: 'never changes',
    person_id: 'never changes',
    role: 'is judged over there',
    permissions: 'is judged over there',
    created_at: 'never changes',
    revoked_at: now,
    last_used_at: 'is shown, or orders what is shown',
  },
  sign_ins: {
    id: 'never changes',
    person_id: 'never changes',
    membership_id: 'never changes',
    organization_id: 'never changes',
    client_id: 'is of this database',
    created_at: 'never changes',
    last_used_at: 'is shown, or orders what is shown',
    ended_at: now,
  },
}
const tables = Object.keys(copied)
const root = fileURLToPath(new URL('../../../..', import.meta.url))

const made = new AsyncDisposableStack()
const there = made.use(await createTestDatabase())
const local = made.use(await createTestDatabase())
afterAll(() => made.disposeAsync())

it('every column that is copied says how its change is learned', () => {
  const text = readFileSync(join(root, 'core/src/accounts/far/copy-sql.ts'), 'utf8')
  const inserted = [...text.matchAll(/insert into (\w+) \(([^)]+)\)/g)].flatMap(([, table = '', columns = '']) =>
    columns.split(',').map(column => `${table}.${column.trim()}`),
  )
  expect(inserted.length).toBeGreaterThan(20)
  expect(inserted.filter(column => !isNamed(column))).toEqual([])
})

it('every column that this database reads in a table with copies says how its change is learned', async () => {
  const { rows } = await there.database.query<{ table_name: string; column_name: string }>(
    `select table_name, column_name from information_schema.columns where table_schema = 'public' and table_name = any ($1)`,
    [tables],
  )
  const columnsOf = (table: string) => rows.filter(row => row.table_name === table).map(row => row.column_name)
  const read = new Set<string>()
  for (const file of sourceFiles()) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, table = '', alias] of text.matchAll(
      /\b(?:from|join|update|using|,)\s+(\w+)(?:\s+(?:as\s+)?(\w+))?/g,
    )) {
      if (!tables.includes(table)) continue
      const named = alias === undefined || /^(where|on|set|order|limit|for|join|left)$/.test(alias) ? table : alias
      for (const column of columnsOf(table)) {
        const isRead = new RegExp(`\\b${named}\\.${column}\\b`).test(text)
        if (isRead) read.add(`${table}.${column}`)
      }
    }
  }
  expect(read.size).toBeGreaterThan(15)
  expect([...read].filter(column => !isNamed(column))).toEqual([])
})

const followed = Object.entries(copied).flatMap(([table, columns]) =>
  Object.entries(columns).flatMap(([column, learning]) =>
    typeof learning === 'object' ? [[`${table}.${column}`, learning.becomes] as const] : [],
  ),
)

it.each(followed)('a change of %s reaches the copy', async (name, becomes) => {
  const [table = '', column = ''] = name.split('.')
  const tenant = await createTenant(there.database)
  const person = await signInPerson(there.database, tenant.organizationId)
  const copies = new CopiedRows(local.database, systemClock)
  for (const [of, signInId] of [
    [tenant, null],
    [person, person.signInId],
  ] as const) {
    const snapshot = await readAccountSnapshot(there.database, of)
    if (snapshot === null) throw new Error('there is no standing')
    await copies.provide(snapshot, signInId)
  }
  const ids: Readonly<Record<string, string>> = {
    organizations: tenant.organizationId,
    installations: tenant.installationId,
    people: person.personId,
    memberships: person.membershipId,
    sign_ins: person.signInId,
  }
  const id = ids[table]
  await there.database.query(`update ${table} set ${column} = $2 where id = $1`, [id, becomes])
  const beginning = '0.00000000-0000-0000-0000-000000000000'
  // The feed ends below the server's oldest open transaction, which may be another database's.
  const changes = await until('the feed has the change', async () => {
    const read = (await readAccountChanges(there.database, beginning, changeKinds)).changes
    return read.some(({ row }) => row.id === id) && read
  })
  await local.database.transaction(tx => applyChanges(tx, changes))
  const select = `select ${column}::text as value from ${table} where id = $1`
  const [expected] = (await there.database.query<{ value: string }>(select, [id])).rows
  expect((await local.database.query(select, [id])).rows).toEqual([expected])
})

it('a page of changes ends between two transactions', async () => {
  const { database } = there
  const person = await signInPerson(database, (await createTenant(database)).organizationId)
  const read = (after: string) => readAccountChanges(database, after, changeKinds)
  let start = await read('0.00000000-0000-0000-0000-000000000000')
  while (start.more) start = await read(start.cursor)
  await database.query(
    `insert into authority_changes (id, kind, position)
     select gen_random_uuid(), 'installation', pg_current_xact_id() from generate_series(1, 499)`,
  )
  await database.transaction(async tx => {
    await tx.query('update people set unlinked_at = now() where id = $1', [person.personId])
    await tx.query('update sign_ins set ended_at = now() where id = $1', [person.signInId])
  })
  const page = await until('a full page', async () => {
    const found = await read(start.cursor)
    return found.more && found
  })
  const { changes } = await read(page.cursor)
  expect([page.changes.length, changes.map(({ kind }) => kind).toSorted()]).toEqual([499, ['person', 'sign_in']])
})

function isNamed(name: string): boolean {
  const [table = '', column = ''] = name.split('.')
  return copied[table]?.[column] !== undefined
}

/** The files of an API; what only an account service or an operator does looks at no copies. */
function sourceFiles(): readonly string[] {
  const all = readdirSync(root, { recursive: true, encoding: 'utf8' })
  return all.filter(
    file => /^\w+\/src\/(?!accounts|admin).*(?<!\.test)\.ts$/.test(file) && !file.startsWith('testing/'),
  )
}
