import { randomUUID } from 'node:crypto'
import type { Environment, Verification } from '@berth/contract'
import type { TestService } from '../services/service.ts'
import { until } from '../until.ts'
import { touch } from '../workspaces/workspace.ts'
import { Delivering } from './delivering.ts'

/** A Session on the repository whose agent has made a change, which is reviewed. */
export class Verifying {
  readonly #test: TestService
  readonly at: Delivering
  readonly revision: string

  private constructor(test: TestService, at: Delivering, revision: string) {
    this.#test = test
    this.at = at
    this.revision = revision
  }

  /** @param source as a Session is created with */
  static async of(
    test: TestService,
    source: object,
    { id }: Environment,
    change = 'echo Hi >> README.md',
  ): Promise<Verifying> {
    const session = await test.api.createSession({ runtime: 'shell', source, environment: { id } }, change)
    const at = await Delivering.of(test, session)
    return new Verifying(test, at, (await at.review()).revision)
  }

  put(id: string, body: object = {}) {
    const path = this.at.path(`/repository/verifications/${id}`)
    return this.#test.api.put<{ verification: Verification }>(path, { revision: this.revision, ...body })
  }

  async read(id: string): Promise<Verification> {
    const path = this.at.path(`/repository/verifications/${id}`)
    return (await this.#test.api.get<{ verification: Verification }>(path)).body.verification
  }

  /** Asks for a verification that the service must accept. */
  async ask(body: object = {}): Promise<string> {
    const id = randomUUID()
    const answer = await this.put(id, body)
    if (answer.status !== 201) throw new Error(`the verification answered ${answer.status} ${answer.text}`)
    return id
  }

  /** Waits until a verification is as it should be. */
  when(id: string, is: (verification: Verification) => boolean): Promise<Verification> {
    return until('a verification', async () => {
      const verification = await this.read(id)
      return is(verification) && verification
    })
  }

  ended = (id: string) => this.when(id, ({ completedAt }) => completedAt !== undefined)

  /** Makes the file beside the checkout that a check waits for. */
  async go(id: string): Promise<void> {
    const { organizationId } = this.at.session
    await touch(this.#test.db.database, this.#test.dataDir, { id: await this.sandbox(id), organizationId }, 'go')
  }

  async sandbox(id: string): Promise<string> {
    const { rows } = await this.#test.db.database.query<{ sandbox_id: string }>(
      'select sandbox_id from verifications where id = $1',
      [id],
    )
    return rows[0]?.sandbox_id ?? ''
  }

  /** Returns what is left of the sandbox, and of the Session that holds it. */
  async left(id: string): Promise<readonly unknown[]> {
    const { rows } = await this.#test.db.database.query(
      `select 'lease' from leases where session_id = $1 and ended_at is null
       union all select 'session' from sessions where id = $1 and archived_at is null`,
      [await this.sandbox(id)],
    )
    return rows
  }

  publish(body: object = {}) {
    return this.at.put(randomUUID(), { revision: this.revision, title: 'Change it', ...body })
  }

  async events(id: string): Promise<readonly unknown[]> {
    const events = await this.#test.api.events(this.at.session.id)
    return events.filter(({ data }) => data['verificationId'] === id).map(({ type, data }) => [type, data['state']])
  }
}
