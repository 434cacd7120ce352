import { once } from 'node:events'
import { connect } from 'node:net'
import { until } from '@berth/testing/until.ts'
import fastify, { type FastifyInstance } from 'fastify'
import { expect, it } from 'vitest'
import { sendFailure } from '../../src/accounts/pages/failure.ts'
import { readForm } from '../../src/accounts/pages/form.ts'
import { registerOidcRoutes } from '../../src/accounts/sign-in/oidc-routes.ts'
import type { OpenIdProvider } from '../../src/accounts/sign-in/provider.ts'

/** A listener that serves a page's form and the OpenID provider's mount, and keeps what it logs. */
async function listen(patienceMs: number, provider: unknown = null) {
  const lines: { level: number; msg: string }[] = []
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const app: FastifyInstance = fastify({ logger: { level: 'trace', stream } })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.post('/form', { errorHandler: sendFailure }, async request =>
    (await readForm(request, { patienceMs })).toString(),
  )
  registerOidcRoutes(app, {
    provider: { get: async () => provider } as unknown as OpenIdProvider,
    meter: { take: async () => ({ kind: 'granted' }) } as never,
    authUrl: () => 'http://127.0.0.1',
    patienceMs,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }
  return { port, lines, [Symbol.asyncDispose]: () => app.close() }
}

/** Sends the head of a form and a part of its body. */
function begin(port: number, path: string) {
  const socket = connect(port, '127.0.0.1')
  socket.write(`POST ${path} HTTP/1.1\r\nhost: test\r\ncontent-type: application/x-www-form-urlencoded\r\n`)
  socket.write('content-length: 100\r\n\r\nname=')
  return socket
}

async function answerTo(socket: ReturnType<typeof begin>) {
  let text = ''
  socket.on('data', chunk => {
    text += chunk
  })
  await once(socket, 'close')
  return text
}

it('a form that drips is refused after the same time as any other body, and its connection ends', async () => {
  await using server = await listen(50)
  const answer = await answerTo(begin(server.port, '/form'))
  expect(answer).toMatch(/^HTTP\/1.1 408 /)
  expect(answer.toLowerCase()).toContain('connection: close')
})

it('a body for the OpenID provider that drips is refused likewise', async () => {
  const body = async (request: AsyncIterable<unknown>) => {
    for await (const _ of request);
  }
  await using server = await listen(50, {
    callback: () => (request: AsyncIterable<unknown>) => body(request).catch(() => {}),
  })
  const answer = await answerTo(begin(server.port, '/oidc/token'))
  expect(answer).toMatch(/^HTTP\/1.1 408 /)
  expect(answer).toContain('request_timeout')
})

it('a client that leaves in the middle of a form is no error of the service', async () => {
  await using server = await listen(60_000)
  const socket = begin(server.port, '/form')
  const messages = () => server.lines.map(({ msg }) => msg)
  await until('the form begins to arrive', async () => messages().includes('incoming request'))
  socket.resetAndDestroy()
  await until('the service notices', async () => messages().includes('the client left before the page'))
  expect(server.lines.filter(({ level }) => level >= 50)).toEqual([])
})
