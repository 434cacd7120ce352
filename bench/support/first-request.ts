import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { openaiWire } from '../../packages/testing/src/models/openai-wire.ts'

/** A scripted model on loopback, in this process, that tells when it is asked for a reply. */
export interface ObservedModel extends Disposable {
  /** Writes the configuration of a service that has this model as its default into its data directory. */
  configure(dataDir: string): Promise<void>
  /** Resolves with the time of the next request for a reply, or the last of so many, in milliseconds since the epoch. */
  next(count?: number): Promise<number>
}

/** Listens on a free port of loopback. */
export async function startObservedModel(): Promise<ObservedModel> {
  let requested = Promise.withResolvers<number>()
  let missing = 1
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request
    const at = Date.now()
    const body = method === 'POST' ? ((await json(request)) as object) : null
    const question = { method, path, headers, body }
    if (body === null || !openaiWire.asksForReply(question)) {
      const found = { id: 'main/m1', object: 'model', created: 0, owned_by: 'bench' }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ object: 'list', data: [found] }))
      return
    }
    missing -= 1
    if (missing === 0) requested.resolve(at)
    openaiWire.write({ text: 'Done.' }, question, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1`
  const price = { input: 1, cachedInput: 0.5, output: 10 }
  const models = [{ id: 'm1', contextTokens: 1_000_000, outputTokens: 8192, reasoning: false, price }]
  const providers = [{ id: 'main', kind: 'openai', baseUrl, apiKey: 'sk-bench', models }]
  const config = JSON.stringify({ providers, models: { default: 'main/m1' } })
  return {
    configure: dataDir => writeFile(join(dataDir, 'berth.json'), config, { mode: 0o600 }),
    next: (count = 1) => {
      missing = count
      requested = Promise.withResolvers()
      return requested.promise
    },
    [Symbol.dispose]: () => void server.close(),
  }
}
