import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import type { RunClaim } from './claim.ts'
import { GatewayAccess, type GatewayAccessOptions } from './gateway-access.ts'

/** Asks for models from a sandbox, whose Run `take` takes over. */
async function asking(options: Pick<GatewayAccessOptions, 'expects' | 'arrivalMs'>) {
  const stack = new AsyncDisposableStack()
  const gateway = createServer((incoming, outgoing) => outgoing.end(incoming.headers.authorization)).listen(
    0,
    '127.0.0.1',
  )
  await once(gateway, 'listening')
  stack.defer(() => void gateway.close())
  const access = stack.use(
    new GatewayAccess({
      ...options,
      url: () => `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`,
      log: { warn: () => undefined },
      mint: async run => `for-${run.runId}`,
    }),
  )
  const route = access.route('lease')
  const server = createServer((incoming, outgoing) => {
    void route.answer(incoming, outgoing, incoming.url ?? '')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => void server.close())
  const sent = get(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/models`, { agent: false })
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>
  const run = { organizationId: 'o', sessionId: 's', runId: 'r', token: 1, holder: 'h' } as RunClaim
  return {
    answer: async () => {
      const [answer] = await answered
      return [answer.statusCode, await text(answer)] as const
    },
    take: async () => stack.use(await access.open(run, 'lease', {} as Parameters<typeof access.open>[2])),
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  }
}

it('holds the request of an agent that outlived its worker until its Run is taken over', async () => {
  const requested = Promise.withResolvers<void>()
  await using it = await asking({
    expects: async () => {
      requested.resolve()
      return true
    },
  })
  await requested.promise
  await it.take()
  expect(await it.answer()).toEqual([200, 'Bearer for-r'])
})

it('has the agent try again if nobody takes its Run over in time, or the database is away', async () => {
  for (const expects of [async () => true, () => Promise.reject(new Error('away'))]) {
    // bound: it is to be over
    await using it = await asking({ expects, arrivalMs: 1 })
    expect(await it.answer()).toMatchObject([503, expect.stringContaining('service_unavailable')])
  }
})

it('refuses at once while no Run is under way', async () => {
  await using it = await asking({ expects: async () => false })
  expect(await it.answer()).toMatchObject([401, expect.stringContaining('No Run is active')])
})
