import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startTestApp } from '../testing/test-app.ts'

test('a stop does not wait for connections without a request', async () => {
  const service = await startTestApp()
  const accepted = once(service.app.server, 'connection')
  const socket = connect(service.port, '127.0.0.1')
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  await accepted
  await service.app.close()
  await closed
})

test('a stop lets a started request finish', async () => {
  const service = await startTestApp()
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  service.answer('listRuntimes', async () => {
    begun.resolve()
    await held.promise
    return { status: 200, body: { runtimes: [] } }
  })
  const answer = service.call('GET', '/v1/runtimes')
  await begun.promise
  const closing = service.app.close()
  held.resolve()
  expect((await answer).status).toBe(200)
  await closing
})
