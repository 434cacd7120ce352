import { expect, test } from 'vitest'
import { createClient, type Event, followRun } from '../src/index.ts'
import { runId, ScriptedApi, sessionId } from './scripted-api.ts'

const other = '0191d5a0-0000-7000-8000-0000000000bb'
const of = (type: string, run?: string): Partial<Event> => ({
  type,
  subject: run === undefined ? { sessionId } : { sessionId, runId: run },
})

test.each(['completed', 'failed', 'cancelled', 'crashed'])('followRun ends at the Run’s own svc.run.%s', async end => {
  await using api = await ScriptedApi.start({})
  const script = [
    of('svc.run.started', other),
    of('svc.run.completed', other),
    of('svc.run.started', runId),
    of('svc.environment.apply'),
    of(`svc.run.${end}`, runId),
    of('svc.run.started', other),
  ]
  api.append(script.length, sequence => script[sequence - 1] ?? {})
  const client = createClient({ baseUrl: api.url, credential: 'key' })
  const events = followRun({ client, sessionId, runId })
  const seen: number[] = []
  let step = await events.next()
  for (; !step.done; step = await events.next()) seen.push(step.value.sequence)
  expect(seen).toEqual([3, 4, 5])
  expect(step.value).toMatchObject({ sequence: 5, type: `svc.run.${end}` })
})

test('followRun returns null if it is aborted first', async () => {
  await using api = await ScriptedApi.start({})
  const client = createClient({ baseUrl: api.url, credential: 'key' })
  expect(await followRun({ client, sessionId, runId, signal: AbortSignal.abort() }).next()).toEqual({
    done: true,
    value: null,
  })
})
