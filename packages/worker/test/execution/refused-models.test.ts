import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { refuses, says } from '@berth/testing/models/scripted-upstream.ts'
import { endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let service: GatewayService
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  service = stack.use(await startGatewayService({ variables: { BERTH_ROLES: 'api,gateway,worker' }, runtimes }))
})
afterAll(() => stack.disposeAsync())

/** Has an agent carry out a script, and returns how its Run ended. */
async function perform(script: string, runtime = 'scripted'): Promise<string> {
  const { api } = service.test
  const session = await api.createSession({ runtime }, script)
  return outcomeOf(await endedRun(api, session, session.activeRunId ?? ''))
}

const request = JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'a' }] })
const asks = `model ${request}`
/** A request beside the answer, as for a title. */
const asksAside = `side ${request}`
/** A request that the gateway refuses by itself: it keeps no state. */
const impossible = `model ${JSON.stringify({ model: 'fast', input: 'a', previous_response_id: 'resp_1' })}`

describe('a run whose agent ends its prompt as usual', () => {
  it.each([
    ['the provider refused the request', 400, 'model_request_refused'],
    ['the provider refused the key', 401, 'model_credential_refused'],
    ['the provider had no more to give', 429, 'model_rate_limited'],
    ['the provider failed', 500, 'model_unavailable'],
  ])('has failed if %s and no answer followed', async (_, status, errorCode) => {
    service.upstream.next(refuses(status))
    expect(await perform(`${asks}\nsay I could not.`)).toBe(`failed error ${errorCode} 1`)
  })

  it('has failed if the gateway itself refused the request', async () => {
    expect(await perform(`${impossible}\nsay I could not.`)).toBe('failed error model_request_refused 1')
  })

  it('has failed if it was answered only before the refusal', async () => {
    service.upstream.next(says({ text: 'yes' }), refuses(400))
    expect(await perform(`${asks}\n${asks}`)).toBe('failed error model_request_refused 1')
  })

  it('is completed if an answer followed the refusal', async () => {
    service.upstream.next(refuses(500), says({ text: 'yes' }))
    expect(await perform(`${asks}\n${asks}`)).toBe('completed completed - 1')
  })

  it('is completed if only a model was refused that is not open to it', async () => {
    expect(await perform('model {"model":"no/such","messages":[]}')).toBe('completed completed - 1')
  })

  it('is completed if a request was refused that began after its answer', async () => {
    service.upstream.next(says({ text: 'yes' }), refuses(500))
    expect(await perform(`${asks}\nsay It is done.\n${asksAside}`)).toBe('completed completed - 1')
  })

  it.each([
    ['it went on to work after it spoke', `${asks}\nsay I will look.\ntool look\n${asksAside}`],
    ['it went on to think after it spoke', `${asks}\nsay I will look.\nthink hm\n${asksAside}`],
    ['it said nothing', `${asksAside}\n${asksAside}`],
  ])('has failed if its last request was refused and %s', async (_, script) => {
    service.upstream.next(says({ text: 'yes' }), refuses(500))
    expect(await perform(script)).toBe('failed error model_unavailable 1')
  })

  it('has failed if no model ever answered it, whatever it said before', async () => {
    service.upstream.next(refuses(500))
    expect(await perform(`say Hello.\n${asksAside}`)).toBe('failed error model_unavailable 1')
  })
})

it('has one entry in the ledger for all refusals of one cause, which is that of the last', async () => {
  const { api } = service.test
  const unknown = `model ${JSON.stringify({ model: 'fast', input: 'a', background: true, store: true })}`
  const script = [impossible, impossible, asks, impossible, unknown].join('\n')
  service.upstream.next(says({ text: 'yes' }))
  const session = await api.createSession({ runtime: 'scripted' }, script)
  const runId = session.activeRunId ?? ''
  await endedRun(api, session, runId)
  const entries = (await service.requests()).filter(entry => entry['run_id'] === runId)
  expect(entries.map(entry => entry['outcome'])).toEqual(['completed', 'failed'])
})
