import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import type { Answer, Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

let service: TestService
const made = new Map<string, { readonly idle: Session; readonly busy: readonly Session[] }>()
beforeAll(async () => {
  // bound: callers are to wait in vain for so long
  service = await startTestService({ variables: { BERTH_ROLES: 'api' }, fixed: { workspaceWaitMs: 1000 } })
  const { api } = service
  // Made before locks have a timeout: on a busy machine Sessions that are made together wait for one another.
  for (const table of tables) {
    const busy = await Promise.all(commands.map(() => api.createSession({}, 'a')))
    made.set(table, { idle: await api.createSession(), busy })
  }
  // The server gives up a statement that waits for a lock as it gives up a slow one, only sooner.
  const { database, connection } = service.db
  await database.query(`alter database ${connection.database} set lock_timeout = '150ms'`)
  await database.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
    [connection.database],
  )
})
afterAll(() => service[Symbol.asyncDispose]())

/** Tables that a command may touch, except those of its guard, which answers first. */
const tables = ['sessions', 'events', 'runs', 'turns', 'executions', 'leases', 'interactions', 'checkpoints']

type Command = (api: Api, session: string, run: string) => Promise<Answer>
const commands: readonly (readonly [name: string, command: Command])[] = [
  [
    'create a Session with a Turn',
    api => api.put(`/v1/sessions/${randomUUID()}`, { initialTurn: { id: randomUUID(), message: 'a' } }),
  ],
  ['change a Session', (api, id) => api.call('PATCH', `/v1/sessions/${id}`, { title: randomUUID() })],
  ['submit a Turn', (api, id) => api.put(`/v1/sessions/${id}/turns/${randomUUID()}`, { message: 'a' })],
  [
    'answer by a Turn',
    (api, id) => api.put(`/v1/sessions/${id}/turns/${randomUUID()}`, { message: 'a', replyTo: { interactionId: 'x' } }),
  ],
  ['cancel a Run', (api, id, run) => api.call('POST', `/v1/sessions/${id}/runs/${run}/cancel`)],
  ['restore a workspace', (api, id) => api.call('PUT', `/v1/sessions/${id}/workspace`)],
  [
    'decide',
    (api, id) =>
      api.put(`/v1/sessions/${id}/interactions/x/decision`, { requestId: 'x', choice: 'deny', idempotencyKey: 'x' }),
  ],
  ['archive', (api, id) => api.call('DELETE', `/v1/sessions/${id}`)],
]

test.each(tables)('a command that cannot reach %s in time is told to retry', async table => {
  const { api } = service
  const { idle, busy } = made.get(table) ?? expect.unreachable()
  // As the role that owns the tables: the service's own role may not lock the log.
  await service.db.database.transaction(async tx => {
    await tx.query(`lock table ${table} in access exclusive mode`)
    for (const [index, [name, command]] of commands.entries()) {
      const { id, activeRunId = '' } = busy[index] ?? idle
      const target = name === 'submit a Turn' ? idle.id : id
      const answer = await command(api, target, activeRunId)
      // A workspace that no worker brings up is waited for, whatever is locked.
      if (answer.status < 500 || outcome(answer).endsWith('cloud_workspace_starting')) continue
      expect([name, answer.status, answer.body, answer.headers.get('retry-after')]).toEqual([
        name,
        503,
        { error: 'service_unavailable' },
        '2',
      ])
    }
  })
})
