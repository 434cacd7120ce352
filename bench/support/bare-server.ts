// Bare Fastify routes in a process of their own. `/guarded` returns the bytes of a page after the guard's call; `/query`
// runs only the page's query, and `/session` only that of a Session's read. It reads its settings as one line of JSON from
// stdin.
import { createInterface } from 'node:readline'
import fastify from 'fastify'
import { DatabaseAuthority } from '../../packages/core/src/identity/guard/authority.ts'
import { openTokenVerifier } from '../../packages/core/src/identity/tokens/token-verifier.ts'
import { findSession } from '../../packages/core/src/sessions/session/session-sql.ts'
import { listEventsAfter } from '../../packages/core/src/sessions/streams/event-sql.ts'
import { systemClock } from '../../packages/platform/src/kit/clock.ts'
import { openDatabase } from '../../packages/platform/src/storage/postgres/pool.ts'
import { quiet } from './bench-database.ts'

const lines = createInterface({ input: process.stdin })
const { value } = await lines[Symbol.asyncIterator]().next()
const { connection, apiKey, key, body } = JSON.parse(value ?? '')
const db = openDatabase({ connection, log: quiet })
const authority = new DatabaseAuthority(
  db,
  systemClock,
  openTokenVerifier(db, systemClock, () => 'http://localhost'),
  {
    authority: { burst: 1e8, perMinute: 600 },
    edge: { burst: 1e8, perMinute: 3000 },
  },
)
const app = fastify()
app.get('/guarded', async (request, reply) => {
  await authority.judge({ bearer: apiKey, clientAddress: request.ip })
  return reply.type('application/json; charset=utf-8').send(body)
})
app.get('/query', async (_, reply) => {
  const events = await listEventsAfter(db, key, 0, 100)
  return reply
    .type('application/json; charset=utf-8')
    .send(`{"events":[${events.map(event => event.envelope).join(',')}],"lastSequence":300}`)
})
app.get('/session', () => findSession(db, key))
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
