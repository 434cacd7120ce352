import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Session, Trigger, TriggerDelivery, Turn } from '@berth/contract'
import { openGitHosts } from '@berth/core/git-hosts/open-git-hosts.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { grant } from '../git/delivering.ts'
import { gitHostConfig, hostIdOf } from '../git/git-host-config.ts'
import { githubEvents, type PostedEvent } from '../git/github-events.ts'
import { GitHubServer } from '../git/github-server.ts'
import { sampleRepository } from '../git/repositories.ts'
import { type PostedAnswer, postHook, signing } from '../posted-hooks.ts'
import { outcome } from '../runs/outcome.ts'
import { startTestService, type TestService } from '../services/service.ts'
import { workerContext } from '../services/worker-context.ts'
import { until } from '../until.ts'

/** A trigger with its hook and the secret of it. */
export type Hooked = Trigger & { hook: NonNullable<Trigger['hook']>; secret: string }

/** A service, a GitHub beside it, and triggers by its events. It answers the API and runs nothing, unless it is asked to. */
export class GitHubTriggers {
  readonly test: TestService
  readonly server: GitHubServer
  readonly #stack: AsyncDisposableStack
  #next = 500

  private constructor(test: TestService, server: GitHubServer, stack: AsyncDisposableStack) {
    this.test = test
    this.server = server
    this.#stack = stack
  }

  /** Starts both; `ann` and `bob` may push everywhere, and `eve` may read. */
  static async start(
    stack: AsyncDisposableStack,
    variables: Record<string, string> = { BERTH_ROLES: 'api' },
  ): Promise<GitHubTriggers> {
    const server = stack.use(await GitHubServer.start())
    const config = { gitHosts: [gitHostConfig(server)] }
    return GitHubTriggers.within(stack.use(await startTestService({ config, variables })), server, stack)
  }

  /** The same for a service and a server that run. */
  static within(test: TestService, server: GitHubServer, stack: AsyncDisposableStack): GitHubTriggers {
    for (const login of ['ann', 'bob']) server.talk.rights.set(login, 'write')
    server.talk.rights.set('eve', 'read')
    return new GitHubTriggers(test, server, stack)
  }

  /** Returns the dependencies of a further process. */
  async processContext() {
    const { db, dataDir, url } = this.test
    const parts = { db: db.database, clock: systemClock, dataDir, consoleUrl: () => url }
    const gitHosts = openGitHosts(parts, [{ ...gitHostConfig(this.server), kind: 'github' }], this.#stack)
    return { ...(await workerContext(this.test, this.#stack)), gitHosts, consoleUrl: url }
  }

  /** Makes a repository that is granted to the installation, and events of it. */
  async repository() {
    const id = this.#next++
    const fullName = `o/r${id}`
    const gitDir = await sampleRepository(join(this.test.dataDir, 'served'), fullName)
    const served = this.server.addRepository({ id, fullName, gitDir, installations: [String(id)] })
    const named = { repositoryId: String(id), fullName }
    const host = hostIdOf(this.server)
    await grant(this.test, { host, provider: 'github', account: String(id), repository: named, gitDir })
    const addPull = (head: string, fork = false) => {
      const number = 20 + this.server.pulls.length
      const pull = { repository: id, number, title: 'A change', body: '', head, base: 'main', draft: false, fork }
      this.server.pulls.push({ ...pull, state: 'open', headOid: '0'.repeat(40), mergedAt: null, mergeCommitOid: null })
      return number
    }
    const events = githubEvents({ id, full_name: fullName, html_url: `${this.server.url}/${fullName}` })
    return { id, fullName, gitDir, events, addPull, served }
  }

  /** Makes a trigger by every event, with a secret. */
  async make(github: object = {}, more: object = {}): Promise<Hooked> {
    const path = `/v1/triggers/${randomUUID()}`
    const hook = { scheme: 'github', github: { on: ['comment', 'label', 'check_failed', 'review'], ...github } }
    const message = '{{event.kind}} by {{event.actor}}: {{event.title}}: {{event.text}}'
    const made = await this.test.api.put(path, { name: 'GitHub', message, hook, ...more })
    if (outcome(made) !== '201') throw new Error(`the trigger answered ${made.text}`)
    const { body } = await this.test.api.call<{ secret: string }>('POST', `${path}/secret`, {})
    return { ...(await this.test.api.get<{ trigger: Hooked }>(path)).body.trigger, secret: body.secret }
  }

  post({ hook, secret }: Hooked, { name, body }: PostedEvent, key: string = randomUUID()): Promise<PostedAnswer> {
    const text = JSON.stringify(body)
    const headers = { ...signing.github(secret, text), 'x-github-event': name, 'x-github-delivery': key }
    return postHook(hook.url, text, headers)
  }

  async deliveries({ id }: Trigger): Promise<readonly TriggerDelivery[]> {
    const path = `/v1/triggers/${id}/deliveries`
    return (await this.test.api.get<{ deliveries: TriggerDelivery[] }>(path)).body.deliveries
  }

  ended(trigger: Trigger, key: string): Promise<TriggerDelivery> {
    return until('the delivery to end', async () => {
      const found = (await this.deliveries(trigger)).find(each => each.key === key)
      return found !== undefined && found.status !== 'waiting' && found
    })
  }

  /** Posts an event and waits for what becomes of it. */
  async fire(trigger: Hooked, event: PostedEvent): Promise<TriggerDelivery> {
    const { body } = await this.post(trigger, event)
    if (body.delivery === undefined) throw new Error(`the event was not taken: ${JSON.stringify(body)}`)
    return this.ended(trigger, body.delivery.key)
  }

  async messages(sessionId: string): Promise<readonly string[]> {
    const { body } = await this.test.api.get<{ turns: Turn[] }>(`/v1/sessions/${sessionId}/turns`)
    return body.turns.map(({ message }) => message)
  }

  async cancel(sessionId: string): Promise<void> {
    const { activeRunId } = await this.test.api.session(sessionId)
    await this.test.api.call('POST', `/v1/sessions/${sessionId}/runs/${activeRunId}/cancel`)
  }

  async made({ id }: Trigger): Promise<readonly Session[]> {
    const path = `/v1/sessions?limit=100&origin.objectType=trigger&origin.objectId=${id}`
    return (await this.test.api.get<{ sessions: Session[] }>(path)).body.sessions
  }

  /** Ends the active Run of a Session, as its worker would. */
  async endRun(
    sessionId: string,
    { status = 'completed', summary, errorCode }: { status?: string; summary?: string; errorCode?: string } = {},
  ): Promise<void> {
    await this.test.db.database.query(
      `update runs set status = $2, error_code = $3, ended_at = now(), result = $4
       where session_id = $1 and ended_at is null`,
      [sessionId, status, errorCode ?? null, JSON.stringify({ artifactIds: [], summary })],
    )
  }

  /** Records that a Session published a pull request. */
  async published({ id }: Pick<Session, 'id'>, number: number): Promise<void> {
    const { database } = this.test.db
    const { organizationId } = this.test.tenant
    const url = `${this.server.url}/o/r/pull/${number}`
    const pullRequest = { number, url, draft: false, reused: false }
    const result = { delivery: 'pull_request', branch: 'svc/x', commitSha: '0'.repeat(40), pullRequest }
    const revision = '0'.repeat(64)
    await database.query(
      `insert into reviews (organization_id, session_id, revision, base_oid, base_tree, head_tree, target_branch,
         document_sha256, created_at)
       values ($1, $2, $3, '', '', '', 'main', '', now())`,
      [organizationId, id, revision],
    )
    await database.query(
      `insert into publications (organization_id, session_id, id, request_hash, revision, title, body, delivery,
         branch, draft, status, result, due_at, created_at, updated_at, ended_at)
       values ($1, $2, $3, '', $5, 't', '', 'pull_request', 'svc/x', false, 'succeeded', $4, now(), now(), now(), now())`,
      [organizationId, id, randomUUID(), JSON.stringify(result), revision],
    )
  }
}
