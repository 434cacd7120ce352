import { randomUUID } from 'node:crypto'
import type { Event, Merge, Publication, Review, Session } from '@berth/contract'
import type { HostRepository } from '@berth/core/git-hosts/git-host.ts'
import type { Answer, Api } from '../api/api.ts'
import type { TestService } from '../services/service.ts'
import { until } from '../until.ts'
import { workspacePath } from '../workspaces/workspace.ts'
import { grantRepository } from './grants.ts'

/** A repository on a host, and the access that an installation gets. */
export interface Granted {
  readonly host: string
  readonly provider: string
  readonly account: string
  readonly repository: Pick<HostRepository, 'repositoryId' | 'fullName'>
  /** Path of the repository on the host. */
  readonly gitDir: string
}

/**
 * Grants the repository to the test's installation.
 * @returns the id of the grant
 */
export async function grant(test: TestService, to: Granted): Promise<string> {
  const { host, provider, account, repository } = to
  const made = await grantRepository(
    test.db.database,
    test.tenant,
    { host, provider, account, accountLogin: account },
    repository,
  )
  return made.id
}

/** A Session whose changes can be delivered. */
export class Delivering {
  readonly #test: TestService
  readonly session: Session
  readonly project: string
  readonly baseOid: string

  private constructor(test: TestService, session: Session, project: string, baseOid: string) {
    this.#test = test
    this.session = session
    this.project = project
    this.baseOid = baseOid
  }

  /** Makes a Session on the repository, with its sandbox attached and no active Run. */
  static async begin(
    test: TestService,
    from: Granted & { readonly grantId: string },
    { title, baseBranch }: { readonly title?: string; readonly baseBranch?: string } = {},
  ): Promise<Delivering> {
    const { grantId, repository } = from
    const source = { grantId, repositoryId: repository.repositoryId, ...(baseBranch !== undefined && { baseBranch }) }
    const session = { runtime: 'shell', source, ...(title === undefined ? {} : { title }) }
    return Delivering.of(test, await test.api.createSession(session, 'true'))
  }

  /** Waits until the first Run of a Session has ended and its sandbox is attached. */
  static async of(test: TestService, session: Session): Promise<Delivering> {
    await test.api.runEnded(session.id, session.activeRunId ?? '')
    await until('a sealed run', async () => (await test.api.session(session.id)).phase === 'idle')
    const project = await workspacePath(test.db.database, test.dataDir, session, 'project')
    return new Delivering(test, session, project, session.source?.baseOid ?? '')
  }

  get api(): Api {
    return this.#test.api
  }

  path(rest: string): string {
    return `/v1/sessions/${this.session.id}${rest}`
  }

  /** Runs a script in the place of the agent. */
  async shell(script: string): Promise<void> {
    const { run: made } = await this.api.submitTurn(this.session.id, `cd /workspace/project\n${script}`)
    await this.api.runEnded(this.session.id, made.id)
    await until('a sealed run', async () => (await this.api.session(this.session.id)).phase === 'idle')
  }

  async review(): Promise<Review> {
    const answer = await this.api.get<{ review: Review }>(this.path('/repository/review'))
    if (answer.status !== 200) throw new Error(`the review answered ${answer.status} ${answer.text}`)
    return answer.body.review
  }

  put(id: string, body: object): Promise<Answer<{ publication: Publication }>> {
    return this.api.put(this.path(`/publications/${id}`), body)
  }

  /** Publishes the current changes, or a revision, and waits for the end. */
  async publish(body: object = {}): Promise<Publication> {
    const id = randomUUID()
    const revision = 'revision' in body ? {} : { revision: (await this.review()).revision }
    const answer = await this.put(id, { title: 'Change it', ...revision, ...body })
    if (answer.status !== 201) throw new Error(`the publication answered ${answer.status} ${answer.text}`)
    return this.ended(id)
  }

  async ended(id: string): Promise<Publication> {
    return until('an ended publication', async () => {
      const { body } = await this.api.get<{ publication: Publication }>(this.path(`/publications/${id}`))
      return body.publication.completedAt !== undefined && body.publication
    })
  }

  putMerge(publicationId: string, id: string, body: object): Promise<Answer<{ merge: Merge }>> {
    return this.api.put(this.path(`/publications/${publicationId}/merges/${id}`), body)
  }

  async readMerge(publicationId: string, id: string): Promise<Merge> {
    return (await this.api.get<{ merge: Merge }>(this.path(`/publications/${publicationId}/merges/${id}`))).body.merge
  }

  /** Merges and waits for the end. */
  async merge(publicationId: string, body: object = { strategy: 'merge' }): Promise<Merge> {
    const id = randomUUID()
    const answer = await this.putMerge(publicationId, id, body)
    if (answer.status !== 201) throw new Error(`the merge answered ${answer.status} ${answer.text}`)
    return until('an ended merge', async () => {
      const merge = await this.readMerge(publicationId, id)
      return merge.completedAt !== undefined && merge
    })
  }

  /** Lists the types of a Publication's Events and of its Merges' Events, without their first word. */
  async eventTypesOf(publicationId: string): Promise<string[]> {
    const events = (await this.events()).filter(({ data }) => data['publicationId'] === publicationId)
    return events.map(({ type }) => type.replace('svc.', ''))
  }

  /** Lists the log's Events about deliveries. */
  async events(): Promise<Event[]> {
    const events = await this.api.events(this.session.id)
    return events.filter(({ type, data }) => type.startsWith('svc.publication.') || data['publicationId'] !== undefined)
  }
}
