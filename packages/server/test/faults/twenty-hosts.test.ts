import { rm } from 'node:fs/promises'
import { makeToken } from '@berth/testing/hosts/dialled-host.ts'
import { ScriptedHost } from '@berth/testing/hosts/scripted-host.ts'
import type { Prompt } from '@berth/testing/hosts/scripted-sandbox.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { activitiesOf, endedRun, messagesOf, outcomeOf, startsOf } from '@berth/testing/runs/ended-run.ts'
import { freePorts } from '@berth/testing/services/free-ports.ts'
import { shortFence, startTestService, type TestService, variablesAlongside } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

const HOSTS = 20

const stack = new AsyncDisposableStack()
let test: TestService
beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
})
afterAll(() => stack.disposeAsync())

/** Starts a worker without sandboxes of its own, which twenty hosts may dial. */
async function startWorker(port: number) {
  const dataDir = await runDirectory('worker')
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  return stack.use(
    await startServiceProcess({
      ...variablesAlongside(test),
      BERTH_DATA_DIR: dataDir,
      BERTH_ROLES: 'worker',
      BERTH_COMPUTE: 'remote',
      BERTH_HOSTS_PORT: String(port),
      BERTH_WORKER_CONCURRENCY: String(HOSTS),
      ...shortFence,
    }),
  )
}

it('takes twenty hosts over from a worker that is killed, and every Run ends once with every Event', async () => {
  const [first = 0, second = 0] = await freePorts(2)
  let port = first
  const killed = await startWorker(first)
  const prompts = new Map<string, Prompt>()
  const hosts: ScriptedHost[] = []
  for (let n = 0; n < HOSTS; n += 1) {
    // One sandbox each, so that all of them have one.
    const host = new ScriptedHost(await makeToken(test.db.database, { capacity: 1 }), prompt => {
      prompts.set(host.id, prompt)
      prompt.act('before')
    })
    hosts.push(host)
    stack.use(host.keepDialling(() => port))
  }
  const begun = await Promise.all(
    Array.from({ length: HOSTS }, () => test.api.createSession({ runtime: 'shell' }, 'work')),
  )
  await until('twenty Runs', () => prompts.size === HOSTS)
  for (const { id } of begun) {
    await until('its first Event', async () =>
      (await test.api.events(id)).some(({ type }) => type === 'svc.activity.completed'),
    )
  }
  const fences = () => hosts.map(({ sandboxes }) => [...sandboxes.values()].map(({ fence }) => fence))
  const before = fences().map(([fence = 0]) => fence)
  expect(hosts.map(({ sandboxes }) => sandboxes.size)).toEqual(Array(HOSTS).fill(1))

  await startWorker(second)
  port = second
  await killed.kill('SIGKILL')
  for (const prompt of prompts.values()) prompt.act('meanwhile')
  await until('twenty takeovers', () => fences().every(([fence = 0], n) => fence > (before[n] ?? 0)))
  for (const prompt of prompts.values()) {
    prompt.act('after')
    prompt.write('done')
    prompt.answer()
  }
  for (const session of begun) {
    const run = await endedRun(test.api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(startsOf(run)).toHaveLength(1)
    expect(activitiesOf(run).map(({ title }) => title)).toEqual(['before', 'meanwhile', 'after'])
    expect(messagesOf(run).filter(({ role }) => role === 'assistant')).toMatchObject([{ text: 'done' }])
  }
  // Nobody was prompted again, and no sandbox was made twice.
  expect(hosts.map(({ calls }) => calls.filter(([name]) => name === 'create').length)).toEqual(Array(HOSTS).fill(1))
  const { rows } = await test.db.database.query<{ by: string; hosts: number }>(
    'select connected_to as by, count(*)::integer as hosts from hosts where token_sha256 is not null group by 1',
  )
  expect(rows).toEqual([{ by: expect.any(String), hosts: HOSTS }])
})
