// The smallest possible gateway, in its own process: `http` in, `undici` out, every byte passed on.
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { Pool } from 'undici'

const pool = new Pool(process.argv[2] ?? '', { connections: 1024 })
const server = createServer(async (request, response) => {
  const body = await buffer(request)
  const headers = { 'content-type': 'application/json' }
  const answer = await pool.request({ method: 'POST', path: request.url ?? '/', body, headers })
  response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) })
  await pipeline(answer.body, response)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
