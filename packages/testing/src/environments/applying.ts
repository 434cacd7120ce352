import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment, Event, Session } from '@berth/contract'
import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { MasterKey, parseMasterKey } from '@berth/platform/storage/master-key.ts'
import { until } from '../until.ts'
import { Resuming } from '../workspaces/resuming.ts'
import { touch } from '../workspaces/workspace.ts'
import { Environments } from './environments.ts'

/** A script that waits until the test lets it go on. */
export const waitFor = (name: string) => `until [ -e ${name} ]; do sleep 0.05; done`

/** The API in this process with environments, and workers that a test starts, breaks and stops. */
export class Applying implements AsyncDisposable {
  readonly resuming: Resuming
  readonly environments: Environments

  static async open(fixed: Partial<Fixed> = {}): Promise<Applying> {
    const resuming = await Resuming.open({}, fixed)
    const { dataDir, db } = resuming.test
    const key = parseMasterKey(readFileSync(join(dataDir, 'master.key'), 'utf8').trim())
    // Workers of the test open what the service has sealed.
    if (key !== undefined) Object.assign(db.database, { masterKey: new MasterKey(key) })
    return new Applying(resuming)
  }

  private constructor(resuming: Resuming) {
    this.resuming = resuming
    this.environments = new Environments(resuming.api)
  }

  get api(): Resuming['api'] {
    return this.resuming.api
  }

  get db() {
    return this.resuming.test.db.database
  }

  get dataDir(): string {
    return this.resuming.test.dataDir
  }

  /** Makes a Session that is bound to a new environment with this setup. */
  async session(setup: string, message?: string, more: object = {}): Promise<Session> {
    return this.sessionOf(await this.environments.make({ setup, ...more }), message)
  }

  sessionOf({ id }: Environment, message?: string, runtime = 'shell'): Promise<Session> {
    return this.api.createSession({ runtime, environment: { id } }, message)
  }

  /** Waits until setup has written a text. */
  async wrote(session: Session, text: string): Promise<void> {
    await until(`that setup writes ${text}`, async () => outputIn(await this.api.events(session.id)).includes(text))
  }

  /** Makes the file in the workspace that setup or the agent waits for. */
  go(session: Session, name = 'go'): Promise<void> {
    return touch(this.db, this.dataDir, session, name)
  }

  async applies(session: Session): Promise<readonly Event['data'][]> {
    return appliesIn(await this.api.events(session.id))
  }

  /** Returns status and code of each Event of an apply, and the number of the lease it belongs to. */
  async steps(session: Session): Promise<readonly string[]> {
    const events = await this.applies(session)
    const leases = [...new Set(events.map(({ leaseId }) => leaseId))]
    return events.map(({ leaseId, status, errorCode }) =>
      [leases.indexOf(leaseId) + 1, status, ...(errorCode === undefined ? [] : [errorCode])].join(' '),
    )
  }

  async lease(session: Session): Promise<string> {
    const { rows } = await this.db.query<{ id: string }>(
      'select id from leases where session_id = $1 and ended_at is null',
      [session.id],
    )
    const [lease] = rows
    if (lease === undefined) throw new Error('the session has no lease')
    return lease.id
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.resuming[Symbol.asyncDispose]()
  }
}

const dataOf = (events: readonly Event[], type: string) =>
  events.filter(event => event.type === type).map(({ data }) => data)

/** The data of each Event of an apply. */
export const appliesIn = (events: readonly Event[]) => dataOf(events, 'svc.environment.apply')

/** Everything that setup was told to have written; the pieces must follow each other without a gap. */
export function outputIn(events: readonly Event[]): string {
  let text = ''
  let lease: unknown
  let at = 0
  for (const piece of dataOf(events, 'svc.environment.output')) {
    if (piece['leaseId'] !== lease) at = 0
    lease = piece['leaseId']
    if (piece['offset'] !== at) throw new Error(`output at ${piece['offset']} follows output up to ${at}`)
    text += piece['text']
    at += Buffer.byteLength(String(piece['text']))
  }
  return text
}

/** The output of the agent's tool calls. */
export const outputs = (events: readonly Event[]) =>
  dataOf(events, 'svc.activity.completed')
    .filter(({ name }) => name !== 'restore')
    .map(({ output }) => output)
