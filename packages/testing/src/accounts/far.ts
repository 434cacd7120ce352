import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { destroySandboxes } from '../faults/destroy-sandboxes.ts'
import { runDirectory } from '../leaks/run-directory.ts'
import { databaseUrl, testVariables } from '../services/service.ts'
import { type ServiceProcess, startServiceProcess } from '../services/service-process.ts'
import { createTestDatabase, type TestDatabase } from '../storage/postgres.ts'
import { startSigner } from './signer.ts'

export const secret = 'between-two-deployments-0123456789abcdef'

/** What stands between the API and the account service does with a request; `no-changes` breaks the look at changes alone. */
export type Passing = 'through' | 'stalled' | 'broken' | 'nonsense' | 'another-shape' | 'no-changes'

/** A proxy on loopback in front of the account service. */
export interface Between extends AsyncDisposable {
  readonly url: string
  passing: Passing
  /** Where it passes requests on. */
  target: string
  /** Paths of the requests that came, with the bodies. */
  readonly requests: { path: string; body: string }[]
  /** Connections that were opened to it. */
  readonly connections: number
}

async function startBetween(): Promise<Between> {
  const agent = new Agent({ keepAlive: true })
  const requests: Between['requests'] = []
  let connections = 0
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', chunk => chunks.push(chunk))
    incoming.once('end', () => {
      const body = Buffer.concat(chunks)
      requests.push({ path: incoming.url ?? '', body: body.toString() })
      const answer = (status: number, text: string) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(text)
      switch (between.passing) {
        case 'stalled':
          return
        case 'broken':
          return void answer(500, '{"error":"internal_error"}')
        case 'nonsense':
          return void answer(200, '<html>granted</html>')
        case 'another-shape':
          return void answer(200, '{"kind":"granted","principal":{"kind":"app_installation"}}')
        case 'no-changes':
          if (incoming.url?.startsWith('/internal/revocations')) return void answer(500, '{}')
      }
      const onward = request(
        between.target + (incoming.url ?? ''),
        { agent, method: incoming.method, headers: incoming.headers },
        answered => {
          response.writeHead(answered.statusCode ?? 502, answered.headers)
          answered.pipe(response)
        },
      )
      onward.once('error', () => response.destroy())
      onward.end(body)
    })
  })
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const between: Between = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passing: 'through',
    target: '',
    requests,
    get connections() {
      return connections
    },
    async [Symbol.asyncDispose]() {
      agent.destroy()
      server.close().closeAllConnections()
    },
  }
  return between
}

/** One of two deployments: its database, its data directory and the process that serves it. */
export interface Deployment {
  readonly db: TestDatabase
  readonly dataDir: string
  readonly process: ServiceProcess
  /** Kills the process. */
  kill(): Promise<void>
  /** Starts it again on its database. */
  start(more?: Readonly<Record<string, string>>, moreFixed?: Partial<Fixed>): Promise<void>
}

async function deploy(
  stack: AsyncDisposableStack,
  variables: Readonly<Record<string, string>>,
  fixed: Partial<Fixed>,
  config?: object,
): Promise<Deployment> {
  const db = stack.use(await createTestDatabase())
  const dataDir = await runDirectory('deployment')
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  stack.defer(() => destroySandboxes(dataDir))
  if (config !== undefined) await writeFile(join(dataDir, 'berth.json'), JSON.stringify(config), { mode: 0o600 })
  const { BERTH_LOG_LEVEL: _, ...shared } = testVariables
  const all = { ...shared, ...variables, DATABASE_URL: databaseUrl(db), BERTH_DATA_DIR: dataDir }
  let process = await startServiceProcess(all, fixed)
  stack.defer(() => process.kill())
  return {
    db,
    dataDir,
    get process() {
      return process
    },
    kill: () => process.kill(),
    async start(more, moreFixed) {
      process = await startServiceProcess({ ...all, ...more }, { ...fixed, ...moreFixed })
    },
  }
}

/** An account service and an API as two deployments without a shared database, each a process of its own. */
export interface FarDeployments extends AsyncDisposable {
  readonly account: Deployment
  readonly api: Deployment
  readonly between: Between
  readonly signer: Awaited<ReturnType<typeof startSigner>>
  /** Starts the account service again at its address, after it was killed. */
  restartAccount(): Promise<void>
}

/**
 * @param variables settings of the processes, besides their roles and the address of the account service; `config` is
 * the API's configuration
 */
export async function startFar(
  variables: {
    readonly api?: Record<string, string>
    /** Other values of the API of those that no operator sets. */
    readonly apiFixed?: Partial<Fixed>
    readonly account?: Record<string, string>
    readonly config?: object
    /** The account service's configuration. */
    readonly accountConfig?: object
  } = {},
): Promise<FarDeployments> {
  await using stack = new AsyncDisposableStack()
  const between = stack.use(await startBetween())
  const key = randomBytes(32)
  // It also serves an API of its own, which judges nearby: the two must agree.
  const account = await deploy(
    stack,
    {
      BERTH_ROLES: 'account,api,gateway',
      BERTH_MASTER_KEY: key.toString('hex'),
      BERTH_IDENTITY_SECRET: secret,
      ...variables.account,
    },
    {},
    variables.accountConfig,
  )
  between.target = account.process.url
  const signer = await startSigner(account.db.database, account.process.url, new MasterKey(key))
  const api = await deploy(
    stack,
    {
      BERTH_ROLES: 'api,gateway',
      BERTH_IDENTITY_URL: between.url,
      BERTH_IDENTITY_SECRET: secret,
      BERTH_AUTH_URL: account.process.url,
      ...variables.api,
    },
    { identityMs: 10_000, ...variables.apiFixed },
    variables.config,
  )
  const opened = stack.move()
  return {
    account,
    api,
    between,
    signer,
    async restartAccount() {
      await account.start({ BERTH_PORT: new URL(between.target).port })
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
