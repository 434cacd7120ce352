import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Session } from '@berth/contract'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { activitiesOf, type EndedRun, endedRun, messagesOf, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { until } from '@berth/testing/until.ts'
import { Resuming } from '@berth/testing/workspaces/resuming.ts'
import { sandboxProcesses } from '@berth/testing/workspaces/sandbox-processes.ts'
import { leaseOf } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AgentKeeper } from '../../src/host/agent-keeper.ts'

let service: GatewayService
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  service = stack.use(
    await startGatewayService({
      variables: { BERTH_ROLES: 'api,gateway,worker' },
      // bound: agents are to be idle for so long
      fixed: { agentIdleMs: 1000 },
      models: { default: 'main/m1' },
      runtimes,
    }),
  )
})
afterAll(() => stack.disposeAsync())

async function next(session: Session, message: string): Promise<EndedRun> {
  const { api } = service.test
  const { body } = await api.put<{ run: { id: string } }>(`/v1/sessions/${session.id}/turns/${randomUUID()}`, {
    message,
  })
  return endedRun(api, session, body.run.id)
}

/** Lists the command lines in the Session's sandbox. */
async function programs(session: Session): Promise<string[]> {
  const { dataDir, db } = service.test
  return commandLines(await sandboxProcesses(dataDir, await leaseOf(db.database, session)))
}

const commandLines = (pids: readonly number[]) =>
  Promise.all(pids.map(pid => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')))

const agentEnds = (session: Session, command: string) =>
  until('the end of the idle agent', async () => {
    const found = await programs(session)
    return !found.some(line => line.includes(command))
  })

test('an idle agent that leaves nothing running ends with its sandbox, and the next turn goes on with all it knew', async () => {
  const { api } = service.test
  const write = 'echo kept | tee /tmp/file ~/file file; export WORD=harbour'
  service.upstream.next(
    says({ calls: [{ name: 'bash', args: { command: write } }] }),
    says({ text: 'The word is harbour.' }),
  )
  const session = await api.createSession({}, 'Remember a word')
  await endedRun(api, session, session.activeRunId ?? '')
  const lease = await leaseOf(service.test.db.database, session)
  await until('an end of all processes', async () => (await programs(session)).length === 0)
  for (const word of ['cat', 'wc']) {
    service.upstream.next(
      says({ calls: [{ name: 'bash', args: { command: `${word} /tmp/file ~/file file` } }] }),
      says({ text: 'It is harbour.' }),
    )
    const again = await next(session, 'Which word?')
    expect(outcomeOf(again)).toBe('completed completed - 1')
    expect(JSON.stringify(activitiesOf(again))).toContain(word === 'cat' ? 'kept' : 'total')
    expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).toContain('The word is harbour.')
    await until('an end of all processes', async () => (await programs(session)).length === 0)
  }
  expect(await leaseOf(service.test.db.database, session)).toBe(lease)
})

test('an idle agent ends and its sandbox stays, with what it left running; the next turn goes on', async () => {
  const { api } = service.test
  const background = 'setsid sleep 600 >/dev/null 2>&1 </dev/null & echo started'
  service.upstream.next(
    says({ calls: [{ name: 'bash', args: { command: background } }] }),
    says({ text: 'The word is harbour.' }),
  )
  const session = await api.createSession({}, 'Remember a word')
  await endedRun(api, session, session.activeRunId ?? '')
  const lease = await leaseOf(service.test.db.database, session)
  await agentEnds(session, 'engine.cjs')
  expect((await programs(session)).filter(line => line.startsWith('sleep'))).toHaveLength(1)
  service.upstream.next(says({ text: 'It is harbour.' }))
  const again = await next(session, 'Which word?')
  expect(outcomeOf(again)).toBe('completed completed - 1')
  expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).toContain('The word is harbour.')
  expect(await leaseOf(service.test.db.database, session)).toBe(lease)
})

test('an idle agent with a command in the background stays, as the command would end with it', async () => {
  const { api } = service.test
  service.upstream.next(
    says({ calls: [{ name: 'bash', args: { command: 'exec sleep 600', background: true } }] }),
    says({ text: 'It runs.' }),
  )
  const keeping = await api.createSession({}, 'Start a server')
  await endedRun(api, keeping, keeping.activeRunId ?? '')
  service.upstream.next(says({ text: 'Nothing to do.' }))
  const later = await api.createSession({}, 'Rest')
  await endedRun(api, later, later.activeRunId ?? '')
  await agentEnds(later, 'engine.cjs')
  const left = await programs(keeping)
  expect(left.some(line => line.includes('engine.cjs'))).toBe(true)
  expect(left.filter(line => line.startsWith('sleep'))).toHaveLength(1)
  expect((await api.session(keeping.id)).background).toMatchObject([{ command: 'exec sleep 600', status: 'running' }])
})

test('an agent that refuses to end is killed, and a turn meanwhile notices nothing', async () => {
  const { api } = service.test
  const session = await api.createSession({ runtime: 'remembering' }, 'remember harbour\nignore-cancel')
  await endedRun(api, session, session.activeRunId ?? '')
  await until('the end of sealing', async () => (await api.session(session.id)).phase === 'idle')
  for (let turn = 0; turn < 3; turn += 1) {
    // The agent has a second for its end, in which these Turns fall if any do.
    await until('an idle second', async () => {
      const { rows } = await service.test.db.database.query(
        "select 1 from runs where session_id = $1 having max(ended_at) < now() - interval '1.2 seconds'",
        [session.id],
      )
      return rows.length > 0
    })
    const run = await next(session, 'recall\nignore-cancel')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(messagesOf(run).at(-1)?.['text']).toContain('harbour')
    expect(activitiesOf(run)).toEqual([])
  }
  await agentEnds(session, 'agent.js')
  expect(outcomeOf(await next(session, 'recall'))).toBe('completed completed - 1')
})

test('an agent whose worker died after the seal is ended by the next', async () => {
  await using bench = await Resuming.open()
  await using first = new AsyncDisposableStack()
  await using next = new AsyncDisposableStack()
  await bench.work(first)
  const { session } = await bench.sealed('remembering', 'remember harbour')
  await first.disposeAsync()
  // bound: the agent is to be idle for so long
  const context = await bench.work(next, { limits: { agentIdleMs: 200 } })
  await next.use(new AgentKeeper(context)).start()
  await until('the end of the agent', async () => {
    const pids = await sandboxProcesses(bench.test.dataDir, await leaseOf(bench.test.db.database, session))
    return !(await commandLines(pids)).some(line => line.includes('agent.js'))
  })
  const run = await bench.next(session, 'recall')
  expect(outcomeOf(run)).toBe('completed completed - 1')
  expect(messagesOf(run).at(-1)?.['text']).toContain('harbour')
})
