import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Answer, Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import { damages } from '@berth/testing/workspaces/resuming.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let api: Api
let session: Session
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  api = (await accounts.person({})).api
  session = await api.createSession({ runtime: 'shell' }, 'echo kept > file.txt')
  await api.runEnded(session.id, session.activeRunId ?? '')
  await until('the seal', async () => (await api.session(session.id)).phase === 'idle')
})
afterAll(() => stack.disposeAsync())

const db = () => accounts.test.db.database
const read = (at = '') => api.get(`/cloud/sessions/${session.id}/files/content?path=file.txt${at}`)
const refusal = (answer: Answer) => [outcome(answer), answer.headers.get('retry-after')]

async function blobs(): Promise<string[]> {
  const { rows } = await db().query<{ sha256: string }>(
    'select unnest(blobs) as sha256 from checkpoints where session_id = $1',
    [session.id],
  )
  return rows.map(({ sha256 }) => join(accounts.test.dataDir, 'blobs', sha256.slice(0, 2), sha256.slice(2)))
}

describe('the files of a Session', () => {
  it('are unavailable while no worker answers for the sandbox; those of the checkpoint are not', async () => {
    const { rows } = await db().query<{ host: string }>('select host from leases where session_id = $1', [session.id])
    const move = (host = '') => db().query('update leases set host = $2 where session_id = $1', [session.id, host])
    await move('elsewhere')
    const [answer, sealed] = await Promise.all([read(), read('&at=sealed')])
    await move(rows[0]?.host)
    expect(refusal(answer)).toEqual(['503 cloud_workspace_unavailable', '2'])
    expect(sealed.text).toBe('kept\n')
    expect((await db().query('select 1 from file_requests')).rows).toEqual([])
    expect((await read()).text).toBe('kept\n')
  })

  it.each(Object.entries(damages))('are unavailable while their checkpoint is damaged: %s', async (_, damage) => {
    const files = await blobs()
    expect(files.length).toBeGreaterThan(0)
    for (const path of files) await copyFile(path, `${path}.kept`)
    for (const path of files) await damage(path)
    const answer = await read('&at=sealed')
    for (const path of files) await copyFile(`${path}.kept`, path)
    expect(refusal(answer)).toEqual(['503 cloud_workspace_unavailable', '2'])
    expect((await read('&at=sealed')).text).toBe('kept\n')
  })
})
