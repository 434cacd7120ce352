import { createServer as createHttp } from 'node:http'
import { text } from 'node:stream/consumers'
import { until } from '@berth/testing/until.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EdgeStage, secret } from '../testing/edge-clients.ts'

const host = 'api.example.com'
const bearer = ['Authorization', `Bearer ${secret.placeholder}`]
let stage: EdgeStage

beforeEach(async () => {
  stage = await EdgeStage.open()
})
afterEach(() => stage[Symbol.asyncDispose]())

describe('a decision about a host', () => {
  it('is asked for after the policy and before the dial, and its reason is the answer', async () => {
    const questions: object[] = []
    await stage.listen('no.example.com', createHttp())
    await stage.serve([], {
      decider: {
        decide: async target => {
          questions.push(target)
          return { allow: false, code: 'denied', reason: 'Alice said no to no.example.com' }
        },
      },
    })
    const { head, socket } = await stage.tunnel('no.example.com:443')
    expect(head + (await text(socket))).toMatch(/^HTTP\/1\.1 403 [\s\S]*Alice said no/)
    expect(questions).toEqual([{ host: 'no.example.com', port: 443, by: 'probe/1' }])
    expect([stage.dialled, stage.told.reached]).toEqual([[], []])
    expect(stage.told.refused).toEqual([
      { host: 'no.example.com', port: 443, code: 'denied', reason: 'Alice said no to no.example.com' },
    ])
  })

  it('ends with its client, and with the proxy', async () => {
    const signals: AbortSignal[] = []
    const proxy = await stage.serve([], {
      decider: {
        decide(_, signal) {
          signals.push(signal)
          return new Promise(() => undefined)
        },
      },
    })
    const first = stage.tunnel('a.example.com:443').catch(() => undefined)
    await until('asked', () => signals.length === 1)
    proxy.deny()
    await until('cancelled', () => signals[0]?.aborted)
    await Promise.race([first, until('closed', () => true)])
  })

  it('is not asked for origins that the operator named', async () => {
    await stage.host(host, (_, response) => response.end('ok'))
    await stage.serve([secret], {
      policy: () => ({ kind: 'allow', how: 'named' }),
      decider: { decide: () => expect.fail('asked') },
    })
    expect((await stage.ask(host, '/', { headers: bearer })).body).toBe('ok')
    await stage.tunnel(`${host}:8443`)
  })

  it('bytes are counted', async () => {
    await stage.host(host, (_, response) => response.end('x'.repeat(100_000)))
    await stage.serve([secret])
    const socket = await stage.secure(host)
    await stage.ask(host, '/', {}, socket)
    socket.destroy()
    await until('counted', () => stage.told.bytes.received > 100_000)
    expect(stage.told.bytes.sent).toBeGreaterThan(100)
  })
})
