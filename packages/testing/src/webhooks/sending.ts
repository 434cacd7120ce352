import { randomBytes, randomUUID } from 'node:crypto'
import type { EventFamily } from '@berth/contract'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import type { Attempt } from '@berth/core/webhooks/delivery.ts'
import { makeSecret, sealSecret } from '@berth/core/webhooks/endpoint-secret.ts'
import { insertEndpoint } from '@berth/core/webhooks/endpoint-sql.ts'
import { Poster } from '@berth/core/webhooks/poster.ts'
import { Sender, type SenderLimits, senderLimits } from '@berth/core/webhooks/sender.ts'
import { webhookRules } from '@berth/core/webhooks/webhook-url.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { topics, type Wakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import { createTenant, type Tenant } from '../api/tenant.ts'
import { silentLog } from '../services/log.ts'
import { createTestDatabase, type TestDatabase } from '../storage/postgres.ts'
import { until } from '../until.ts'
import { type Answer, Receiver } from './receiver.ts'
import { ScriptedNetwork } from './scripted-network.ts'
import { TestAuthority } from './test-authority.ts'

/** Public addresses of the receivers, as DNS tells them. */
export const publicAddress = '93.184.216.34'

/** A clock that moves when a test moves it. */
export class SetClock {
  #now = Date.UTC(2026, 0, 1)
  now(): Date {
    return new Date(this.#now)
  }
  advance(ms: number): void {
    this.#now += ms
  }
}

/** An endpoint with its secret. */
export interface TestEndpoint {
  readonly id: string
  readonly secret: string
}

export interface StoredDelivery {
  readonly id: string
  readonly sequence: number
  readonly status: string
  readonly tries: number
  readonly attempts: readonly Attempt[]
  readonly due_at: Date | number
  readonly lapses: number
}

/** A database with a tenant, a receiver at `hooks.example.com`, and senders that a test starts. */
export class Sending implements AsyncDisposable {
  readonly network = new ScriptedNetwork()
  readonly clock = new SetClock()
  readonly key = randomBytes(32)
  readonly masterKey = new MasterKey(this.key)
  readonly authority = new TestAuthority()
  readonly made: TestDatabase
  readonly tenant: Tenant
  readonly receiver: Receiver
  readonly #wakers = new Set<() => void>()
  readonly #receivers: Receiver[] = []

  private constructor(made: TestDatabase, tenant: Tenant, receiver: Receiver) {
    this.made = made
    this.tenant = tenant
    this.receiver = receiver
  }

  static async open(): Promise<Sending> {
    const made = await createTestDatabase()
    const tenant = await createTenant(made.database)
    const sending = new Sending(made, tenant, null as never)
    const receiver = await sending.receiverAt('hooks.example.com', publicAddress)
    return Object.assign(sending, { receiver })
  }

  /** Opens a receiver that holds a certificate for its name. */
  async receiverAt(name: string, address: string, certifiedName = name, answer?: Answer): Promise<Receiver> {
    const receiver = await Receiver.open(this.authority.certify(certifiedName))
    if (answer !== undefined) receiver.answer = answer
    this.#receivers.push(receiver)
    this.network.names.set(name, [address])
    this.network.ports.set(`${address}:443`, receiver.port)
    return receiver
  }

  /** Starts a sender as a process does. Dispose of it. */
  async start(
    limits: Partial<SenderLimits> & { readonly timeoutMs?: number; readonly allow?: readonly string[] } = {},
  ): Promise<Sender> {
    const { timeoutMs = 10_000, allow = [], ...own } = limits
    const sender = new Sender(
      {
        db: this.made.database,
        wakeups: this.wakeups,
        clock: this.clock,
        log: silentLog as never,
        masterKey: this.masterKey,
        rules: webhookRules({ ports: [443], allow }, () => false),
        network: this.network,
        poster: new Poster(this.network, this.authority.ca),
        timeoutMs,
      },
      // bound: a pause between two looks
      { ...senderLimits, pollMs: 50, claimMs: 4_000, ...own },
    )
    await sender.start()
    return sender
  }

  /** Wake-ups within the test alone. */
  get wakeups(): Wakeups {
    return {
      live: true,
      publish: () => this.wake(),
      subscribe: (topic, listener) => {
        const waker = () => listener(topic)
        this.#wakers.add(waker)
        return () => this.#wakers.delete(waker)
      },
      known: async () => undefined,
    }
  }

  wake(): void {
    for (const waker of this.#wakers) waker()
  }

  async endpoint(
    families: readonly EventFamily[] = ['run'],
    url = 'https://hooks.example.com/berth',
    { installationId } = this.tenant,
  ): Promise<TestEndpoint> {
    const id = randomUUID()
    const secret = makeSecret()
    const sealedSecret = sealSecret(this.masterKey, id, secret)
    await insertEndpoint(this.made.database, { id, installationId, url, families, sealedSecret }, this.clock.now())
    this.wakeups.publish(topics.webhooks)
    return { id, secret }
  }

  async session(owner: { kind?: string; id?: string } = {}): Promise<SessionKey> {
    const { organizationId, installationId } = this.tenant
    const sessionId = randomUUID()
    await this.made.database.query(
      `insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at)
       values ($1, $2, $3, $4, '', 't', now(), now())`,
      [organizationId, sessionId, owner.kind ?? 'app_installation', owner.id ?? installationId],
    )
    return { organizationId, sessionId }
  }

  /** Appends Events in one transaction. */
  async append(key: SessionKey, ...drafts: readonly (string | EventDraft)[]): Promise<number> {
    const events = drafts.map(draft => (typeof draft === 'string' ? { type: draft, data: { text: draft } } : draft))
    const last = await this.made.database.transaction(tx => appendEvents(tx, key, events, this.clock.now()))
    if (last === null) throw new Error('there is no such session')
    this.wake()
    return last
  }

  async envelopes(key: SessionKey): Promise<readonly string[]> {
    const { rows } = await this.made.database.query<{ envelope: string }>(
      'select envelope from events where session_id = $1 order by sequence',
      [key.sessionId],
    )
    return rows.map(({ envelope }) => envelope)
  }

  async deliveries(endpoint: Pick<TestEndpoint, 'id'>): Promise<readonly StoredDelivery[]> {
    const { rows } = await this.made.database.query<StoredDelivery>(
      `select id, sequence, status, tries, attempts, due_at, lapses from webhook_deliveries
       where endpoint_id = $1 order by position`,
      [endpoint.id],
    )
    return rows
  }

  /** Waits until the endpoint's first delivery has had that many attempts, and nobody holds it. */
  async attempted(endpoint: TestEndpoint, attempts: number): Promise<StoredDelivery> {
    return until(`${attempts} attempts`, async () => {
      const [delivery] = await this.deliveries(endpoint)
      return delivery !== undefined && delivery.attempts.length >= attempts && delivery
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.authority[Symbol.dispose]()
    for (const receiver of this.#receivers) await receiver[Symbol.asyncDispose]()
    await this.made[Symbol.asyncDispose]()
  }
}
