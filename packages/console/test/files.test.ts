import type { Session, WorkspaceNode } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { endedRun } from '@berth/testing/runs/ended-run.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const MIB = 1024 ** 2
const stack = new AsyncDisposableStack()
let accounts: Accounts
let api: Api
let session: Session
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  api = (await accounts.person({})).api
  session = await made([
    'mkdir -p src/deep; echo "export {}" > src/a.ts; echo b > src/deep/b.ts; echo "# Hello" > README.md',
    'ln -s /etc/passwd out; ln -s src/a.ts inside; mkfifo pipe; : > empty',
    'head -c 4000000 /dev/zero | tr "\\0" x > line; seq 1 100000 > lines',
    'touch "$(printf "bad\\377name")" "$(printf "r\\342\\200\\256l")"; mkdir many; (cd many; seq 1 5001 | xargs touch)',
  ])
})
afterAll(() => stack.disposeAsync())

/** Makes a Session whose agent has run a script, and waits until it is sealed. */
async function made(script: readonly string[]): Promise<Session> {
  const created = await api.createSession({ runtime: 'shell' }, script.join('\n'))
  await endedRun(api, created, String(created.activeRunId))
  return until('the seal', async () => {
    const now = await api.session(created.id)
    return now.phase === 'idle' && now
  })
}

const query = (path: string, at?: string) =>
  new URLSearchParams({ ...(path !== '' && { path }), ...(at !== undefined && { at }) }).toString()
const readNode = (path: string, at?: string, by = api) =>
  by.get<{ node: WorkspaceNode }>(`/cloud/sessions/${session.id}/files?${query(path, at)}`)
const nodeAt = async (path: string, at?: string) => {
  const answer = await readNode(path, at)
  expect(answer.status, answer.text).toBe(200)
  return answer.body.node
}
const read = (path: string, offset = 0, at?: string) =>
  api.get(`/cloud/sessions/${session.id}/files/content?${query(path, at)}&offset=${offset}`)
const namesIn = (node: WorkspaceNode) => (node.entries ?? []).map(({ name }) => name)

async function leases(): Promise<unknown> {
  const { rows } = await accounts.test.db.database.query(
    'select id, state, expires_at from leases where session_id = $1 order by created_at',
    [session.id],
  )
  return rows
}

describe('the files of a sandbox', () => {
  it('are listed, directories first, and read from a range on', async () => {
    const before = await leases()
    const root = await nodeAt('')
    expect(root).toMatchObject({ path: '', kind: 'directory', view: { at: 'workspace' }, more: false })
    expect(namesIn(root)).toEqual([
      'many',
      'src',
      'README.md',
      '"bad\\377name"',
      'empty',
      'inside',
      'line',
      'lines',
      'out',
      'pipe',
      'r\u202el',
    ])
    expect(root.entries?.find(({ name }) => name === 'inside')).toMatchObject({ kind: 'link', target: 'src/a.ts' })
    expect(root.entries?.find(({ name }) => name === '"bad\\377name"')).toMatchObject({ readable: false })
    expect(namesIn(await nodeAt('/workspace/src'))).toEqual(['deep', 'a.ts'])
    expect(await nodeAt('src/./deep/../a.ts')).toMatchObject({ path: 'src/a.ts', kind: 'file', sizeBytes: 10 })
    const answer = await read('README.md', 2)
    expect([answer.text, answer.headers.get('x-svc-file-bytes')]).toEqual(['Hello\n', '8'])
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment;/)
    expect((await read('inside')).text).toBe('export {}\n')
    expect((await read('empty')).text).toBe('')
    // Nothing was started, and no lease moved.
    expect(await leases()).toEqual(before)
  })

  it('come in parts of 1 MiB, a line of 4 MB too', async () => {
    const part = await read('line', 3 * MIB)
    expect([part.text.length, part.headers.get('x-svc-file-bytes')]).toEqual([4_000_000 - 3 * MIB, '4000000'])
    expect((await read('line')).text.length).toBe(MIB)
    expect((await read('lines', 588_880)).text).toMatch(/\n99999\n100000\n$/)
    const many = await nodeAt('many')
    expect([many.entries?.length, many.more]).toEqual([5_000, true])
  })

  it.each([
    ['out', /^404 workspace_file_not_found$/],
    ['/etc/passwd', /^404 workspace_file_not_found$/],
    ['../../etc/passwd', /^404 workspace_file_not_found$/],
    ['src/none', /^404 workspace_file_not_found$/],
    ['README.md/x', /^404 workspace_file_not_found$/],
    ['pipe', /^409 workspace_file_unreadable$/],
  ])('do not lead out of the workspace, and never wait: %s', async (path, expected) => {
    expect(outcome(await readNode(path))).toMatch(expected)
    expect(outcome(await read(path))).toMatch(expected)
  })

  it('are no content if they are a directory', async () => {
    expect(outcome(await read('src'))).toBe('409 workspace_file_unreadable')
  })

  it('are seen by nobody else', async () => {
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    expect(outcome(await readNode('', undefined, stranger.api))).toBe('404 cloud_session_not_found')
    expect(outcome(await readNode('/nowhere', undefined, stranger.api))).toBe('404 cloud_session_not_found')
    expect(outcome(await readNode('', undefined, accounts.test.api))).toBe('401 invalid_or_expired_credential')
  })
})

describe('the files of a checkpoint', () => {
  it('are those of the sandbox, and the answer says whose', async () => {
    const root = await nodeAt('', 'sealed')
    expect(root.view).toMatchObject({ at: 'sealed', runId: expect.any(String), sealedAt: expect.any(String) })
    // A checkpoint has no pipes.
    expect(namesIn(root)).toEqual(namesIn(await nodeAt('')).filter(name => name !== 'pipe'))
    expect((await read('lines', 588_880, 'sealed')).text).toBe((await read('lines', 588_880)).text)
  })

  it('are shown when the sandbox has gone, and none is started', async () => {
    expect((await api.call('DELETE', `/v1/sessions/${session.id}/workspace`)).status).toBeLessThan(300)
    const before = await leases()
    expect((await nodeAt('')).view.at).toBe('sealed')
    expect((await read('src/a.ts')).text).toBe('export {}\n')
    expect(outcome(await readNode('', 'workspace'))).toBe('409 cloud_workspace_expired')
    expect(outcome(await readNode('out'))).toBe('409 workspace_file_unreadable')
    expect(await leases()).toEqual(before)
  })

  it('are none of a Session that has not run', async () => {
    const fresh = await api.createSession()
    expect(outcome(await api.get(`/cloud/sessions/${fresh.id}/files`))).toBe('409 cloud_workspace_expired')
  })
})
