import { randomUUID } from 'node:crypto'
import type { FollowUp, Verification } from '@berth/contract'
import type { CheckState } from '@berth/core/git-hosts/local/rules.ts'
import { wakeFollowUpsOf } from '@berth/core/sessions/follow-ups/follow-up-sql.ts'
import { recordCheck } from '@berth/server/admin/repositories.ts'
import { Delivering, type Granted } from '../git/delivering.ts'
import { localRepository } from '../git/local-repository.ts'
import { databaseUrl, type TestService } from '../services/service.ts'
import { until } from '../until.ts'

/** How a Session whose pull request is followed begins. */
interface Begun {
  /** Name of its repository on this machine. */
  readonly name: string
  /** Its script: the first Run is that of the change, each further one that of an event. */
  readonly agent: string
  readonly files?: Readonly<Record<string, string>>
  readonly environment?: { readonly id: string }
  readonly bounds?: object
}

/** A Session whose pull request the service follows, on a repository of this machine; everything is real. */
export class FollowedSession {
  readonly #test: TestService
  readonly #granted: Granted
  readonly at: Delivering
  readonly #path: string
  /** The commit that it has published first. */
  readonly head: string
  readonly number: number

  private constructor(
    test: TestService,
    granted: Granted,
    at: Delivering,
    publication: { id: string; head: string; number: number },
  ) {
    this.#test = test
    this.#granted = granted
    this.at = at
    this.#path = at.path(`/publications/${publication.id}/follow-up`)
    this.head = publication.head
    this.number = publication.number
  }

  static async begin(test: TestService, { name, agent, files, environment, bounds }: Begun): Promise<FollowedSession> {
    const granted = await localRepository(test, name, files)
    const { grantId, repository } = granted
    const source = { grantId, repositoryId: repository.repositoryId }
    const session = { runtime: 'shell', source, ...(environment !== undefined && { environment }) }
    const at = await Delivering.of(test, await test.api.createSession(session, `cd /workspace/project\n${agent}`))
    const { revision } = await at.review()
    if (environment !== undefined) await pass(at, revision)
    const { id, result, lastError } = await at.publish({ revision, followUp: bounds ?? {} })
    const { commitSha: head, pullRequest } = result ?? {}
    if (head === undefined || pullRequest === undefined) throw new Error(`not published: ${lastError?.code}`)
    return new FollowedSession(test, granted, at, { id, head, number: pullRequest.number })
  }

  get gitDir(): string {
    return this.#granted.gitDir
  }

  get repositoryId(): string {
    return this.#granted.repository.repositoryId
  }

  get branch(): string {
    return `svc/${this.at.session.id}`
  }

  async read(): Promise<FollowUp> {
    return (await this.at.api.get<{ followUp: FollowUp }>(this.#path)).body.followUp
  }

  /** Resumes it, with the bounds of the contract. */
  async retry(): Promise<FollowUp> {
    return (await this.at.api.put<{ followUp: FollowUp }>(this.#path, {})).body.followUp
  }

  /** Reports a check of a commit, which makes workers look at the pull request. */
  report(oid: string, state: CheckState, output = ''): Promise<void> {
    const operator = { BERTH_DATA_DIR: this.#test.dataDir, DATABASE_URL: databaseUrl(this.#test.db) }
    return recordCheck(operator, this.#granted.repository.fullName, { oid, name: 'test', state, output })
  }

  /** Makes workers look at the pull request. */
  async wake(): Promise<void> {
    const { id: sessionId, organizationId } = this.at.session
    await wakeFollowUpsOf(this.#test.db.database, { organizationId, sessionId }, new Date())
  }

  /** Waits until nobody is at it, and nothing is left to do of what its host has told. */
  async rested(): Promise<void> {
    await until('a look that finds nothing to do', async () => {
      const { rowCount } = await this.#test.db.database.query(
        'select from follow_ups where session_id = $1 and due_at > now() and claim is null and cursor is not null',
        [this.at.session.id],
      )
      return rowCount > 0
    })
  }

  /** Waits until the follow-up is as it should be. */
  when(what: string, is: (followUp: FollowUp) => boolean): Promise<FollowUp> {
    return until(what, async () => {
      const followUp = await this.read()
      return is(followUp) && followUp
    })
  }

  /** Lists what the service has written on the pull request, oldest first. */
  async comments(): Promise<readonly string[]> {
    const { rows } = await this.#test.db.database.query<{ body: string }>(
      `select body from local_reviews where repository_id = $1 and number = $2 and written_by = 'service'
       order by position`,
      [this.#granted.repository.repositoryId, this.number],
    )
    return rows.map(({ body }) => body)
  }
}

/** Has a revision verified, which must pass. */
async function pass(at: Delivering, revision: string): Promise<void> {
  const path = at.path(`/repository/verifications/${randomUUID()}`)
  await at.api.put(path, { revision })
  await until('a passed verification', async () => {
    const { verification } = (await at.api.get<{ verification: Verification }>(path)).body
    if (verification.completedAt !== undefined && verification.state !== 'passed') throw new Error(verification.state)
    return verification.state === 'passed'
  })
}
