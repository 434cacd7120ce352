import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { routeUpgrades } from '@berth/core/http/routing/upgrade.ts'
import { fastify } from 'fastify'
import { expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { registerTerminalDoor } from './terminal-door.ts'
import type { TerminalPlace } from './terminal-place.ts'

it('sends a page away whose ticket is taken only after the service began to stop', async () => {
  const [requested, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const db = {
    query: async () => {
      requested.resolve()
      await answer.promise
      return { rows: [{}], rowCount: 1 }
    },
  }
  const place = { context: { db, clock: { now: () => new Date() } } } as unknown as TerminalPlace
  const app = fastify()
  routeUpgrades(app)
  const origin = 'http://console.example'
  registerTerminalDoor(app, place, { origin: () => origin, meter: { take: async () => ({ kind: 'taken' }) as never } })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const protocols = ['berth.terminal.v1', 'ticket.of-a-page']
  const page = new WebSocket(`${url.replace('http', 'ws')}/cloud/terminals/${randomUUID()}`, protocols, { origin })
  const closed = once(page, 'close')
  await requested.promise
  const closing = app.close()
  await expect.poll(() => app.server.listening).toBe(false)
  answer.resolve()
  expect((await closed)[0]).toBe(1012)
  await closing
})
