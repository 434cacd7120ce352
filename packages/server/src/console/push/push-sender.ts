import type { Context } from '@berth/core/context.ts'
import { Loop } from '@berth/platform/kit/loop.ts'
import type { Service } from '@berth/platform/kit/service.ts'
import { UnsealError } from '@berth/platform/storage/master-key.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { type ClaimedPush, claimedPushes, countPush, dropSubscription, queueNews, readNews } from './delivery-sql.ts'
import { NewsWatch } from './news-watch.ts'
import { type PushKeys, readPushKeys } from './push-keys.ts'
import { pushOf } from './push-text.ts'
import { type PushSending, type Sent, sendPush } from './send-push.ts'
import { openSubscribed, SUBSCRIBED_MS } from './subscription.ts'

/** Older changes are not pushed any more. */
export const NEWS_MS = 30 * 60_000
/** Pauses after attempts that failed; after the last the delivery is given up. */
const PAUSES_MS = [5_000, 30_000, 120_000, 600_000] as const

/** Bounds of a process's sender. */
export interface PushLimits {
  /** How long a claim stands: longer than an attempt takes. */
  readonly claimMs: number
  /** Pause between two rounds. */
  readonly roundMs: number
  /** A person who looks at the Session has so long to be seen looking. */
  readonly graceMs: number
  /** Attempts at once of this process. */
  readonly perProcess: number
}

export const pushLimits = { roundMs: 1_000, graceMs: 5_000, perProcess: 32 } as const

/**
 * Notifies browsers of Sessions that wait for their people, while no page is open. What has to be told is found in the rows of
 * requests and Runs, and written to rows of its own, so that it is told once, whatever dies in between, and by one process.
 */
export class PushSender implements Service {
  readonly name = 'push sender'
  readonly #context: Context
  readonly #sending: PushSending
  readonly #limits: PushLimits
  readonly #watch: NewsWatch
  readonly #loop: Loop
  readonly #stop = new AbortController()
  readonly #underWay = new Map<string, Promise<void>>()
  #keys: PushKeys | null = null

  constructor(context: Context, sending: PushSending, limits: PushLimits) {
    this.#context = context
    this.#sending = sending
    this.#limits = limits
    this.#watch = new NewsWatch(context)
    this.#loop = new Loop(
      () => this.#round(),
      limits.roundMs,
      error =>
        logFailure(context.log, error, {
          waiting: 'the database is away; notifications continue once it is back',
          failed: 'could not push notifications; the next round tries again',
        }),
    )
  }

  async start(): Promise<void> {
    this.#watch.start(() => this.#loop.wake())
    this.#loop.wake()
  }

  /** Stops the attempts under way and gives their deliveries back at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#stop.signal.aborted) return
    this.#stop.abort(new Error('the service stops'))
    this.#watch[Symbol.dispose]()
    await this.#loop[Symbol.asyncDispose]()
    const held = [...this.#underWay.keys()]
    await Promise.all(this.#underWay.values())
    this.#sending.poster[Symbol.dispose]()
    await Promise.allSettled(held.map(claim => claimedPushes.release(this.#context.db, claim, {})))
  }

  async #round(): Promise<void> {
    const { db, clock } = this.#context
    const now = clock.now()
    const since = new Date(now.getTime() - NEWS_MS)
    const dueAt = new Date(now.getTime() + this.#limits.graceMs)
    for (const { organizationId, ids } of await this.#watch.take()) {
      await queueNews(db, organizationId, { ids, since, now, dueAt }).catch(error => {
        this.#watch.putBack(organizationId)
        throw error
      })
    }
    if (!this.#watch.isNeeded) return
    const room = this.#limits.perProcess - this.#underWay.size
    if (room <= 0) return
    const until = new Date(now.getTime() + this.#limits.claimMs)
    for (const claimed of await claimedPushes.claim(db, { now, until }, room)) {
      const attempt = this.#attempt(claimed)
        .catch(error => {
          // The claim lapses, and then the delivery is tried again.
          if (!this.#stop.signal.aborted) this.#context.log.warn({ err: error }, 'a notification was not pushed')
        })
        .finally(() => {
          this.#underWay.delete(claimed.claim)
          if (!this.#stop.signal.aborted) this.#loop.wake()
        })
      this.#underWay.set(claimed.claim, attempt)
    }
  }

  async #attempt(claimed: ClaimedPush): Promise<void> {
    const { db, clock } = this.#context
    const sent = await this.#send(claimed)
    if (sent?.kind === 'gone') return dropSubscription(db, claimed.subscription_id)
    const now = clock.now()
    const again = sent?.kind === 'later' ? againAt(claimed, sent.afterMs, now) : null
    const outcome = again === null ? { ended_at: now } : { due_at: again }
    if (sent === null) await claimedPushes.release(db, claimed.claim, outcome)
    else if ((await claimedPushes.release(db, claimed.claim, { ...outcome, tries: claimed.tries + 1 })) !== null)
      await countPush(db, claimed.subscription_id, sent.kind === 'accepted', now)
  }

  /** @returns null if there is nothing to tell any more */
  async #send(claimed: ClaimedPush): Promise<Sent | null> {
    const { db, clock } = this.#context
    const { masterKey } = this.#sending
    const now = clock.now()
    if (now.getTime() - claimed.created_at.getTime() > NEWS_MS) return null
    const news = await readNews(db, claimed.id, new Date(now.getTime() - SUBSCRIBED_MS))
    if (news === null) return null
    const push = pushOf(claimed, news, now)
    if (push.ttlSeconds === 0) return null
    try {
      const subscribed = openSubscribed(masterKey, claimed.subscription_id, news.sealed)
      this.#keys ??= await readPushKeys(this.#context, masterKey)
      return await sendPush(this.#sending, this.#context, this.#keys, subscribed, push, this.#stop.signal)
    } catch (error) {
      // Nothing that is sealed under another key can ever be sent; its browser subscribes anew.
      if (error instanceof UnsealError) return { kind: 'gone' }
      throw error
    }
  }
}

function againAt({ tries, created_at }: ClaimedPush, afterMs: number | null, now: Date): Date | null {
  const pause = PAUSES_MS[tries]
  if (pause === undefined) return null
  const at = now.getTime() + Math.max(pause, afterMs ?? 0)
  return at - created_at.getTime() > NEWS_MS ? null : new Date(at)
}
