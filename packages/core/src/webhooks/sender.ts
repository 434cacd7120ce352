import { randomUUID } from 'node:crypto'
import { Loop } from '@berth/platform/kit/loop.ts'
import type { Service } from '@berth/platform/kit/service.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { pollingMs } from '@berth/platform/storage/postgres/polling-ms.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../context.ts'
import { type AttemptContext, attempt } from './attempt.ts'
import { type Outcome, settle } from './delivery.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  claimedDeliveries,
  type DueEndpoint,
  findDueEndpoints,
  listWatchedOrganizations,
} from './delivery-sql.ts'
import { EndpointSecrets } from './endpoint-secret.ts'
import { OutcomeWriter } from './outcome-writer.ts'

/** Bounds of a process's sender. */
export interface SenderLimits {
  /** How long a claim stands without renewal. */
  readonly claimMs: number
  /** Pause between polls while no wake-ups arrive. */
  readonly pollMs: number
  /** Attempts at once of this process. */
  readonly perProcess: number
  /** Attempts at once at an endpoint, of all processes. */
  readonly perEndpoint: number
  /** After so many failures in a row an endpoint gets one attempt at a time, until one succeeds. */
  readonly patience: number
}

export const senderLimits = { pollMs: 500, perProcess: 256, perEndpoint: 16, patience: 50 } as const

/** Time between two polls while wake-ups arrive, as a multiple of the time while they do not. Retries wait for polls. */
const CALM = 4

/** From the start of an attempt, DNS included, to the end of the response's headers. */
export const ATTEMPT_MS = 10_000

/** Told of every attempt that ended. */
export type Attempted = (outcome: Outcome, ended: 'pending' | 'succeeded' | 'failed') => void

type SenderContext = Omit<AttemptContext, 'secrets'> &
  Pick<Context, 'db' | 'wakeups' | 'log'> & { readonly masterKey: MasterKey }

interface Held {
  readonly endpointId: string
  readonly abort: AbortController
  /** Null once the attempt has ended; the claim stands until its outcome is written. */
  working: Promise<void> | null
}

/**
 * Sends deliveries. Their rows are the queue: a process claims some, attempts them at once, and writes the outcomes
 * together. The claims of a dead process lapse, which costs its deliveries no attempt.
 *
 * Endpoints are served in turn, each within its own slots, so one that never answers holds up none but itself.
 */
export class Sender implements Service {
  readonly name = 'webhook sender'
  readonly #context: SenderContext
  readonly #limits: SenderLimits
  readonly #attempted: Attempted
  readonly #holder = randomUUID()
  readonly #held = new Map<string, Held>()
  readonly #claiming: Loop
  readonly #renewing: Loop
  readonly #writer: OutcomeWriter
  readonly #secrets: EndpointSecrets
  /** Ends of subscriptions, by organization. */
  readonly #watched = new Map<string, () => void>()
  #unsubscribe = () => {}
  #watchAgain = true
  #servedLast = ''
  #stopping = false

  constructor(context: SenderContext, limits: SenderLimits, attempted: Attempted = () => {}) {
    this.#context = context
    this.#limits = limits
    this.#attempted = attempted
    this.#secrets = new EndpointSecrets(context.masterKey)
    const failed = (error: unknown) =>
      logFailure(context.log, error, {
        waiting: 'the database is away; webhooks continue once it is back',
        failed: 'could not claim or renew webhooks; the next round tries again',
      })
    this.#claiming = new Loop(
      () => this.#round(),
      () => pollingMs(context.wakeups, limits.pollMs, CALM),
      failed,
    )
    this.#renewing = new Loop(() => this.#renew(), limits.claimMs / 4, failed)
    this.#writer = new OutcomeWriter(context.db, context.log, limits.pollMs, claims => {
      for (const claim of claims) this.#held.delete(claim)
      this.#claiming.wake()
    })
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#context.wakeups.subscribe(topics.webhooks, () => {
      this.#watchAgain = true
      this.#claiming.wake()
    })
    this.#claiming.wake()
    this.#renewing.wake()
  }

  /** Stops the attempts under way and gives their deliveries back at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#stopping) return
    this.#stopping = true
    this.#unsubscribe()
    for (const end of this.#watched.values()) end()
    await this.#claiming[Symbol.asyncDispose]()
    const held = [...this.#held.values()]
    for (const { abort } of held) abort.abort(new Error('the service stops'))
    await Promise.all(held.map(({ working }) => working))
    await this.#writer[Symbol.asyncDispose]()
    await this.#renewing[Symbol.asyncDispose]()
    this.#context.poster[Symbol.dispose]()
  }

  async #round(): Promise<void> {
    const { db, clock } = this.#context
    if (this.#watchAgain) await this.#watch()
    for (const endpoint of this.#inTurn(await findDueEndpoints(db, clock.now()))) {
      const room = this.#limits.perProcess - this.#held.size
      if (room <= 0 || this.#stopping) return
      this.#servedLast = endpoint.id
      const slots = this.#slotsLeft(endpoint)
      if (slots <= 0) continue
      const now = clock.now()
      const until = new Date(now.getTime() + this.#limits.claimMs)
      const claimed = await claimDeliveries(db, { now, until, holder: this.#holder }, { id: endpoint.id, slots }, room)
      for (const delivery of claimed) this.#begin(delivery)
    }
  }

  /** Wakes the sender whenever a log of an organization with endpoints grows. */
  async #watch(): Promise<void> {
    this.#watchAgain = false
    const organizations = new Set(await listWatchedOrganizations(this.#context.db))
    for (const [id, end] of this.#watched) {
      if (organizations.has(id)) continue
      end()
      this.#watched.delete(id)
    }
    for (const id of organizations) {
      if (this.#watched.has(id)) continue
      this.#watched.set(
        id,
        this.#context.wakeups.subscribe(topics.organization(id), () => this.#claiming.wake()),
      )
    }
  }

  /** Begins after the endpoint that was served last. */
  #inTurn(due: readonly DueEndpoint[]): readonly DueEndpoint[] {
    const next = due.findIndex(({ id }) => id > this.#servedLast)
    return next <= 0 ? due : [...due.slice(next), ...due.slice(0, next)]
  }

  #slotsLeft({ id, failures }: DueEndpoint): number {
    const { patience, perEndpoint } = this.#limits
    const own = [...this.#held.values()].filter(({ endpointId, working }) => endpointId === id && working !== null)
    return (failures >= patience ? 1 : perEndpoint) - own.length
  }

  #begin(delivery: ClaimedDelivery): void {
    const held: Held = { endpointId: delivery.endpoint_id, abort: new AbortController(), working: null }
    this.#held.set(delivery.claim, held)
    held.working = this.#attempt(delivery, held.abort).finally(() => {
      held.working = null
      this.#claiming.wake()
    })
  }

  async #attempt(delivery: ClaimedDelivery, abort: AbortController): Promise<void> {
    const { clock } = this.#context
    const { claim, endpoint_id: endpointId, tries } = delivery
    const at = clock.now().toISOString()
    const began = performance.now()
    const made = await attempt({ ...this.#context, secrets: this.#secrets }, delivery, abort)
    const durationMs = Math.round(performance.now() - began)
    const endedAt = clock.now()
    if (made === null) {
      const settled = { status: 'pending', tries, dueAt: null } as const
      this.#writer.add({ claim, endpointId, settled, attempt: null, endedAt })
      return
    }
    const settled = settle(tries, made.outcome, endedAt)
    this.#attempted(made.outcome, settled.status)
    this.#writer.add({ claim, endpointId, settled, attempt: { at, durationMs, ...made.outcome }, endedAt })
    await made.drained
  }

  async #renew(): Promise<void> {
    const claims = [...this.#held.keys()]
    if (claims.length === 0) return
    const { db, clock } = this.#context
    const until = new Date(clock.now().getTime() + this.#limits.claimMs)
    const renewed = await claimedDeliveries.renewAll(db, claims, until)
    for (const claim of claims) {
      if (!renewed.has(claim)) this.#held.get(claim)?.abort.abort(new Error('the claim was taken over'))
    }
  }
}
