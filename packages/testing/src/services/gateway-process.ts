import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { createTenant } from '../api/tenant.ts'
import { runDirectory } from '../leaks/run-directory.ts'
import { createTestDatabase } from '../storage/postgres.ts'
import { createAiKey } from './gateway-service.ts'
import { databaseUrl } from './service.ts'
import { startServiceProcess } from './service-process.ts'

/** A caller: an organization with one key for the API and one for the gateway. */
interface Caller {
  readonly apiKey: string
  readonly aiKey: string
}

/** API and gateway as a process of their own, so that a test can measure its event loop and memory. */
export interface GatewayProcess extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly pid: number
  newCaller(): Promise<Caller>
  /** Resident memory of the process, in bytes. */
  residentBytes(): number
}

/** A provider's answers, by the path of the request. */
const answers: readonly (readonly [path: RegExp, answer: object])[] = [
  [/count_?tokens/i, { input_tokens: 1, totalTokens: 1 }],
  [/\/messages/, { id: 'm', type: 'message', role: 'assistant', content: [], usage: {} }],
  [/generateContent/, { candidates: [] }],
  [/\/responses/, { id: 'r', object: 'response', status: 'completed', output: [], usage: {} }],
  [/\/chat\/completions/, { id: 'c', object: 'chat.completion', choices: [], usage: {} }],
]

/**
 * Starts the process on its own database. It has one provider of each kind; they answer without reading the request.
 */
export async function startGatewayProcess(fixed: Partial<Fixed> = {}): Promise<GatewayProcess> {
  await using stack = new AsyncDisposableStack()
  const provider = createServer((incoming, response) => {
    incoming.resume().once('end', () => {
      const [, answer = {}] = answers.find(([path]) => path.test(incoming.url ?? '')) ?? []
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  }).listen(0, '127.0.0.1')
  await once(provider, 'listening')
  stack.defer(() => {
    provider.close().closeAllConnections()
  })
  const baseUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`
  const providers = (['openai', 'anthropic', 'google'] as const).map(kind => ({
    id: kind,
    kind,
    baseUrl,
    apiKey: 'key-of-the-provider',
    models: [{ id: 'm', reasoning: true, modalities: ['text', 'image'] }],
  }))
  const dataDir = await runDirectory('gateway-process')
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  await writeFile(join(dataDir, 'berth.json'), JSON.stringify({ providers }), { mode: 0o600 })
  const { database, connection } = stack.use(await createTestDatabase())
  const service = stack.use(
    await startServiceProcess(
      {
        DATABASE_URL: databaseUrl({ connection }),
        BERTH_DATA_DIR: dataDir,
        BERTH_ROLES: 'api,gateway',
      },
      fixed,
    ),
  )
  const opened = stack.move()
  return {
    url: service.url,
    pid: service.pid,
    port: Number(new URL(service.url).port),
    async newCaller() {
      const tenant = await createTenant(database)
      const { aiKey } = await createAiKey(database, tenant)
      return { apiKey: tenant.apiKey, aiKey }
    },
    residentBytes() {
      const [, kilobytes] = readFileSync(`/proc/${service.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+) kB/) ?? []
      return Number(kilobytes) * 1024
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
