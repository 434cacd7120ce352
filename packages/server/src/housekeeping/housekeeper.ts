import { randomUUID } from 'node:crypto'
import type { Context } from '../context.ts'
import { forgetBuckets } from '../identity/guard/forget-buckets.ts'
import { forgetRuntimeCredentials } from '../identity/runtime-credentials/forget-runtime-credentials.ts'
import { Loop, type Service } from '../kit/service.ts'
import type { CollectableBlobs } from '../storage/blobs/blobs.ts'
import { collectBlobs } from '../storage/blobs/collect-blobs.ts'
import { DatabaseUnavailable } from '../storage/postgres/database-errors.ts'
import { type Chore, doChore } from './chore.ts'
import { readNamedBlobs } from './named-blobs.ts'

/** Between two looks at whether a chore is due. */
const LOOK_MS = 60_000
const HOUR_MS = 60 * 60_000

/** Does what has to be done now and then, once for all processes of a deployment. */
export class Housekeeper implements Service {
  readonly name = 'housekeeper'
  readonly #context: Context
  readonly #holder = randomUUID()
  readonly #chores: readonly Chore[]
  readonly #loop: Loop
  readonly #stopping = new AbortController()

  constructor(context: Context, blobs: CollectableBlobs, options: { readonly blobGraceMs: number }) {
    this.#context = context
    this.#chores = [
      forgetFullBuckets(context),
      forgetCredentials(context),
      collectGarbage(context, blobs, options.blobGraceMs),
    ]
    this.#loop = new Loop(
      () => this.#look(),
      LOOK_MS,
      error => {
        if (error instanceof DatabaseUnavailable)
          context.log.warn({ err: error }, 'housekeeping waits for the database')
        else if (!this.#stopping.signal.aborted) context.log.error({ err: error }, 'a chore failed')
      },
    )
  }

  async start(): Promise<void> {
    this.#loop.wake()
  }

  async drain(): Promise<void> {
    this.#stopping.abort()
    await this.#loop[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  async #look(): Promise<void> {
    const { db, clock } = this.#context
    for (const chore of this.#chores) {
      await doChore(db, clock, this.#holder, {
        ...chore,
        work: signal => chore.work(AbortSignal.any([signal, this.#stopping.signal])),
      })
    }
  }
}

function forgetFullBuckets({ db, clock, log }: Context): Chore {
  return {
    name: 'forget-buckets',
    intervalMs: HOUR_MS,
    work: async signal => {
      const forgotten = await forgetBuckets(db, clock.now(), signal)
      if (forgotten > 0) log.info({ forgotten }, 'forgot full rate buckets')
    },
  }
}

function forgetCredentials({ db, log }: Context): Chore {
  return {
    name: 'forget-runtime-credentials',
    intervalMs: HOUR_MS,
    work: async signal => {
      const forgotten = await forgetRuntimeCredentials(db, signal)
      if (forgotten > 0) log.info({ forgotten }, 'forgot credentials of runs that have ended')
    },
  }
}

/** Sweeps the blobs that no row names; the grace is also how often. */
function collectGarbage(context: Context, blobs: CollectableBlobs, graceMs: number): Chore {
  return {
    name: 'collect-blobs',
    intervalMs: graceMs,
    work: async signal => {
      const collected = await collectBlobs({
        blobs,
        named: () => readNamedBlobs(context.db),
        graceMs,
        clock: context.clock,
        signal,
      })
      context.log.info(collected, 'swept the blobs')
    },
  }
}
