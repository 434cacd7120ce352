import { type ClientRequest, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { until } from '@berth/testing/until.ts'
import { expect, it } from 'vitest'
import { GitAccess } from './git-access.ts'

it('refuses a question of a sandbox that has asked too many, until those have ended', async () => {
  const access = new GitAccess({ gitHosts: { ids: [] }, log: { warn() {} } } as never)
  const route = access.route('lease')
  let arrived = 0
  await using stack = new AsyncDisposableStack()
  const server = createServer((incoming, outgoing) => {
    arrived += 1
    void route.answer(incoming, outgoing, '/_berth/git-credential/get')
  }).listen(0, '127.0.0.1')
  stack.defer(() => void server.close().closeAllConnections())
  await until('the server', () => server.listening)
  const port = (server.address() as AddressInfo).port
  /** Begins a question; its answer waits for the body. */
  const begin = () => {
    const headers = { 'content-length': 1 }
    const sent = request({ host: '127.0.0.1', port, method: 'POST', headers, agent: false })
    const answer = new Promise<string>((resolve, reject) => {
      sent.once('error', reject)
      sent.once('response', (response: IncomingMessage) =>
        text(response).then(body => resolve(`${response.statusCode} ${body}`), reject),
      )
    })
    answer.catch(() => undefined)
    sent.flushHeaders()
    return { sent, answer }
  }
  const ask = (question: { readonly sent: ClientRequest; readonly answer: Promise<string> }) => {
    question.sent.end('\n')
    return question.answer
  }
  // As many at once, and as many that wait, as one sandbox may have.
  const open = Array.from({ length: 16 + 32 }, begin)
  await until('all of them', () => arrived === open.length)
  expect(await ask(begin())).toBe('503 too many requests at once; wait for one to end\n')
  const known = '404 no Git host of this deployment\n'
  expect(new Set(await Promise.all(open.map(ask)))).toEqual(new Set([known]))
  expect(await ask(begin())).toBe(known)
})
