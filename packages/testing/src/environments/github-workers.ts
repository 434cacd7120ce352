import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Event, Session } from '@berth/contract'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { GitAccess } from '@berth/worker/claim/git-access.ts'
import { Worker } from '@berth/worker/worker.ts'
import type { Api } from '../api/api.ts'
import type { Tenant } from '../api/tenant.ts'
import { GitHubServer, type ServedRepository } from '../git/github-server.ts'
import { grantRepository } from '../git/grants.ts'
import { sampleRepository } from '../git/repositories.ts'
import { startTestService, type TestService } from '../services/service.ts'
import { workerContext } from '../services/worker-context.ts'
import { until } from '../until.ts'
import { workspacePath } from '../workspaces/workspace.ts'
import { Environments } from './environments.ts'

interface WorkOptions {
  /** By which the worker judges the age of tokens; nothing else of it follows this clock. */
  readonly clock?: Clock
  readonly mintMs?: number
  readonly cloneMs?: number
}

/** A service, workers beside it, and a GitHub whose repositories their sandboxes reach. */
export class GitHubWorkers implements AsyncDisposable {
  readonly test: TestService
  readonly server: GitHubServer
  readonly #stack: AsyncDisposableStack
  #next = 1

  private constructor(test: TestService, server: GitHubServer, stack: AsyncDisposableStack) {
    this.test = test
    this.server = server
    this.#stack = stack
  }

  static async start(): Promise<GitHubWorkers> {
    await using stack = new AsyncDisposableStack()
    const server = stack.use(await GitHubServer.start())
    const key = randomBytes(32)
    const variables = { BERTH_ROLES: 'api', BERTH_MASTER_KEY: key.toString('base64') }
    const test = stack.use(await startTestService({ variables, config: { gitHosts: [hostOf(server)] } }))
    // The workers share the test's connections.
    test.db.database.masterKey = new MasterKey(key)
    return new GitHubWorkers(test, server, stack.move())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }

  get api(): Api {
    return this.test.api
  }

  /** Starts a worker whose `shell` agents reach the server. */
  async work({ clock, mintMs, cloneMs }: WorkOptions = {}): Promise<Worker> {
    const context = await workerContext(this.test, this.#stack, {
      gitHosts: [hostOf(this.server)],
      runtimes: [shell(this.server.url)],
      ...(cloneMs !== undefined && { limits: { cloneMs } }),
    })
    const git = new GitAccess({ ...context, clock: clock ?? context.clock }, mintMs)
    const worker = this.#stack.use(new Worker({ ...context, git }))
    await worker.start()
    return worker
  }

  /** Adds a repository of an account of its owner's name, and grants it to an installation. */
  async grant(fullName: string, installation: string, tenant: Tenant = this.test.tenant): Promise<ServedRepository> {
    const repository = await this.serve(fullName, installation)
    await this.connect(repository, installation, tenant)
    return repository
  }

  /** Grants a repository of an account, which the server names by its installation, to an installation. */
  connect({ id, fullName }: ServedRepository, installation: string, tenant: Tenant): Promise<{ readonly id: string }> {
    const [accountLogin = ''] = fullName.split('/')
    const host = `github:${new URL(this.server.url).host}`
    const account = { host, provider: 'github', account: installation, accountLogin }
    return grantRepository(this.test.db.database, tenant, account, { repositoryId: String(id), fullName })
  }

  /** Adds a repository that nobody was granted. */
  async serve(fullName: string, installation: string): Promise<ServedRepository> {
    const gitDir = await sampleRepository(join(this.test.dataDir, 'served', randomUUID()), fullName)
    return this.server.addRepository({ id: this.#next++, fullName, gitDir, installations: [installation] })
  }

  /** Makes an environment with access to Git hosts and a Session on it that runs a script. */
  async begin(script: string, document: object = {}, api: Api = this.api): Promise<Session> {
    const environment = await new Environments(api).make({ github: true, ...document })
    return api.createSession({ runtime: 'shell', environment: { id: environment.id } }, script)
  }

  /** Runs a script in a Session of its own and returns its output. */
  async run(script: string, document: object = {}, api: Api = this.api): Promise<string> {
    return this.output(await this.begin(script, document, api), api)
  }

  /** Waits until the agent of a Session has made the file `begun`. */
  async begun(session: Session): Promise<void> {
    const { db, dataDir } = this.test
    const isThere = async () => existsSync(await workspacePath(db.database, dataDir, session, 'begun'))
    await until('the file', () => isThere().catch(() => false))
  }

  /** Waits for the end of a Session's Run and returns its output. */
  async output(session: Session, api: Api = this.api): Promise<string> {
    return outputOf(await api.runEnded(session.id, session.activeRunId ?? ''))
  }
}

const outputOf = (events: readonly Event[]): string =>
  String(events.findLast(({ type }) => type === 'svc.activity.completed')?.data['output'])

const hostOf = ({ url, appId, privateKey }: GitHubServer) =>
  ({ kind: 'github', baseUrl: url, appId, privateKey, clientId: undefined, clientSecret: undefined }) as const

const shell = (reach: string) => ({
  id: 'shell',
  name: 'Shell',
  command: [insidePaths.node, `${insidePaths.bundles}/shell.js`],
  env: {},
  reach: [reach],
  mounts: [],
  state: [],
  stateless: true,
})
