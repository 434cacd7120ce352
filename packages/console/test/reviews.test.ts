import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Review, ReviewFileDiff } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { sessionOnRepository } from '@berth/testing/console/reviewed-session.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let at: Delivering
let api: Api
let review: Review
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } })
  at = await sessionOnRepository(accounts.test, 'sample/reviewed')
  await writeFile(join(at.project, 'a-big.txt'), `${'0123456789\n'.repeat(100_000)}`)
  await writeFile(join(at.project, 'z.txt'), `${Array.from({ length: 30 }, (_, line) => `line ${line}`).join('\n')}\n`)
  review = await at.review()
  api = (await accounts.person({})).api
})
afterAll(() => accounts[Symbol.asyncDispose]())

const base = () => `/cloud/sessions/${at.session.id}/reviews/${review.revision}`

async function fileAt(path: string, query = ''): Promise<ReviewFileDiff> {
  const number = review.files.findIndex(file => file.path === path)
  const { body, status } = await api.get<ReviewFileDiff>(`${base()}/files/${number}${query}`)
  expect(status).toBe(200)
  return body
}

describe('a stored review', () => {
  it('is read again as it was made, file by file beyond the bound of the patch', async () => {
    expect(review.patchTruncated).toBe(true)
    expect((await api.get(base())).body).toEqual({ review })
    const file = await fileAt('z.txt')
    expect(file).toMatchObject({
      ...{ revision: review.revision, truncated: false, expandable: true },
      file: { path: 'z.txt', additions: 30 },
    })
    expect(file.patch).toContain('@@ -0,0 +1,30 @@\n+line 0\n')
    expect((await fileAt('a-big.txt')).patch?.length).toBeGreaterThan(1024 * 1024)
  })

  it('gives more unchanged lines, and the same answer once the workspace has moved on', async () => {
    const text = Array.from({ length: 30 }, (_, line) => `line ${line}${line === 15 ? ' changed' : ''}`).join('\n')
    await at.shell(`git add -A; git -c user.name=a -c user.email=a@b commit -qm x; printf 'more\\n' >> README.md`)
    const before = await fileAt('z.txt')
    await writeFile(join(at.project, 'z.txt'), text)
    await at.review()
    expect(await fileAt('z.txt')).toEqual(before)
    expect(await fileAt('z.txt', '?context=0')).toEqual(before)
  })

  it('waits for lines that its worker has not stored yet, though not if it never will', async () => {
    const { database } = accounts.test.db
    const set = (sha256: string | null, age: string) =>
      database.query('update reviews set files_sha256 = $2, created_at = now() - $3::interval where revision = $1', [
        review.revision,
        sha256,
        age,
      ])
    // As text, which keeps the microseconds: reviews are listed by this time.
    const { rows } = await database.query<{ files_sha256: string; created_at: string }>(
      'select files_sha256, created_at::text from reviews where revision = $1',
      [review.revision],
    )
    const [stored] = rows
    await set(null, '0')
    const pending = fileAt('z.txt')
    const others = async () => {
      for (let time = 0; time < 3; time++) await api.get(base())
      return 'it waits'
    }
    expect(await Promise.race([pending, others()])).toBe('it waits')
    await set(stored?.files_sha256 ?? null, '0')
    expect((await pending).expandable).toBe(true)
    await set(null, '1 hour')
    expect((await fileAt('z.txt')).expandable).toBe(false)
    await database.query('update reviews set files_sha256 = $2, created_at = $3 where revision = $1', [
      review.revision,
      stored?.files_sha256,
      stored?.created_at,
    ])
  })

  it('is told to lists, and stands while the next one cannot be made', async () => {
    const text = 'select xmin::text as written from sessions where id = $1'
    const written = async () => (await accounts.test.db.database.query(text, [at.session.id])).rows
    const before = await written()
    await at.review()
    expect(await written()).not.toEqual(before)
    const attributes = join(at.project, '.gitattributes')
    await writeFile(attributes, 'z.txt working-tree-encoding=UTF-99\n')
    expect(outcome(await at.api.get(at.path('/repository/review')))).toBe('409 cloud_review_refused')
    expect(await api.session(at.session.id)).toMatchObject({ status: 'ready_to_review' })
    await rm(attributes)
  })

  it('is among those that are listed, the newest first', async () => {
    const { body } = await api.get<{ reviews: { revision: string }[] }>(`/cloud/sessions/${at.session.id}/reviews`)
    const revisions = body.reviews.map(({ revision }) => revision)
    // One was asked for, and the end of each Run left one.
    expect(revisions).toHaveLength(3)
    expect(revisions.at(-1)).toBe(review.revision)
  })

  it('starts no sandbox', async () => {
    const { database } = accounts.test.db
    const leases = async () =>
      (await database.query('select id, state, expires_at from leases where session_id = $1', [at.session.id])).rows
    const held = await leases()
    await api.get(base())
    await fileAt('z.txt')
    expect(await leases()).toEqual(held)
  })

  it('is not there for another organization, an installation, or under another revision or number', async () => {
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    const list = `/cloud/sessions/${at.session.id}/reviews`
    expect(outcome(await stranger.api.get(list))).toBe('404 cloud_session_not_found')
    const other = `/cloud/sessions/${at.session.id}/reviews/${'0'.repeat(64)}`
    for (const path of ['', '/files/0']) {
      expect(outcome(await stranger.api.get(base() + path))).toBe('404 cloud_session_not_found')
      expect(outcome(await api.get(other + path))).toBe('404 cloud_session_not_found')
      expect(outcome(await accounts.test.api.get(base() + path))).toBe('401 invalid_or_expired_credential')
    }
    expect(outcome(await api.get(`${base()}/files/${review.files.length}`))).toBe('404 cloud_session_not_found')
    expect(outcome(await api.get(`${base()}/files/x`))).toBe('400 invalid_path_parameter')
    expect(outcome(await api.get(`${base()}/files/0?context=-1`))).toBe('400 invalid_request')
  })
})
