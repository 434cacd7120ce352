import { randomUUID } from 'node:crypto'
import type { Session, SessionState, ViewedFiles } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let api: Api
let other: Api
let session: Session
let path: string
beforeAll(async () => {
  accounts = await startAccounts()
  api = (await accounts.person({})).api
  other = (await accounts.person({})).api
})
afterAll(() => accounts[Symbol.asyncDispose]())

const begin = async () => {
  session = await api.createSession()
  path = `/cloud/sessions/${session.id}/viewed-files`
}
const mark = (name: string, digest = 'a..b', viewed = true) => api.put(path, { path: name, digest, viewed })
const marked = async (by = api) => (await by.get<ViewedFiles>(path)).body

describe('files of a review that a person has viewed', () => {
  beforeAll(begin)

  it('are kept by path, each as it was last viewed', async () => {
    expect(await marked()).toEqual({ marks: 0, files: [] })
    expect((await mark('src/a.ts')).body).toEqual({ marks: 1 })
    await mark('b\\x"\u202e.ts', 'c..d')
    await mark('src/a.ts', 'b..e')
    expect(await marked()).toEqual({
      marks: 3,
      files: [
        { path: 'b\\x"\u202e.ts', digest: 'c..d' },
        { path: 'src/a.ts', digest: 'b..e' },
      ],
    })
    expect((await mark('src/a.ts', 'whatever', false)).body).toEqual({ marks: 4 })
    expect((await marked()).files).toMatchObject([{ digest: 'c..d' }])
  })

  it('are nobody else’s, and the person’s state says how often they have changed', async () => {
    expect(await marked(other)).toEqual({ marks: 0, files: [] })
    const stateOf = async (by: Api) =>
      (await by.put<{ state: SessionState }>(`/cloud/sessions/${session.id}/marks`, { pinned: false })).body.state
    expect(await stateOf(api)).toMatchObject({ viewedMarks: 4 })
    expect(await stateOf(other)).toMatchObject({ viewedMarks: 0 })
  })

  it('are bounded: the oldest goes', async () => {
    await accounts.test.db.database.query({
      text: `
        insert into viewed_files (organization_id, session_id, person_id, path_digest, path, digest, marked_at)
        select organization_id, session_id, person_id, sha256(n::text::bytea), 'old/' || n, 'd', now() - interval '1 day' + n * interval '1 second'
        from (select organization_id, session_id, person_id from viewed_files where session_id = $1 limit 1) v
        cross join generate_series(1, 1999) n`,
      values: [session.id],
    })
    expect((await marked()).files).toHaveLength(2000)
    await mark('new.ts')
    const { files } = await marked()
    expect(files).toHaveLength(2000)
    expect(files.map(file => file.path)).not.toContain('old/1')
    expect(files.at(-1)?.path).toBe('new.ts')
    // A path that has its mark takes no other's place.
    await mark('old/2', 'e')
    expect((await marked()).files.map(file => file.path)).toContain('old/3')
  })

  it.each([
    ['no path', { path: '', digest: 'd', viewed: true }],
    ['a path beyond any', { path: 'x'.repeat(4201), digest: 'd', viewed: true }],
    ['no digest', { path: 'x', digest: '', viewed: true }],
    ['half a character', { path: '\ud800', digest: 'd', viewed: true }],
    ['a NUL', { path: 'a\u0000', digest: 'd', viewed: true }],
  ])('are refused with %s', async (_, body) => {
    expect((await api.put(path, body)).status).toBe(400)
  })

  it('are not found in a Session of another organization, nor in none', async () => {
    const { tenant } = await accounts.test.newTenant()
    const stranger = (await accounts.person({ organizationId: tenant.organizationId })).api
    const body = { path: 'a', digest: 'd', viewed: true }
    expect(outcome(await stranger.get(path))).toBe('404 cloud_session_not_found')
    expect(outcome(await stranger.put(path, body))).toBe('404 cloud_session_not_found')
    const nowhere = `/cloud/sessions/${randomUUID()}/viewed-files`
    expect(outcome(await api.put(nowhere, body))).toBe('404 cloud_session_not_found')
  })
})
