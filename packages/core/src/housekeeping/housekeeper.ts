import { randomUUID } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { LoopingService } from '@berth/platform/kit/looping-service.ts'
import type { CollectableBlobs } from '@berth/platform/storage/blobs/blobs.ts'
import { collectBlobs } from '@berth/platform/storage/blobs/collect-blobs.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import type { Context } from '../context.ts'
import { forgetBuckets } from '../identity/guard/forget-buckets.ts'
import { forgetRuntimeCredentials } from '../identity/runtime-credentials/forget-runtime-credentials.ts'
import { type Chore, doChore } from './chore.ts'
import { readNamedBlobs } from './named-blobs.ts'

/** Time between two checks for due chores. */
const POLL_MS = 60_000
const HOUR_MS = 60 * 60_000

/** Does the periodic chores, once for all processes of a deployment. */
export class Housekeeper extends LoopingService {
  override readonly name = 'housekeeper'
  readonly #context: Context
  readonly #holder = randomUUID()
  readonly #chores: readonly Chore[]
  readonly #stopping = new AbortController()

  /** @param options `blobClock` is the one that dates blobs, `chores` are those of later folders, which this one cannot import */
  constructor(
    context: Context,
    blobs: CollectableBlobs,
    options: { readonly blobGraceMs: number; readonly blobClock: Clock; readonly chores: readonly Chore[] },
  ) {
    super(POLL_MS)
    this.#context = context
    this.#chores = [
      forgetFullBuckets(context),
      forgetCredentials(context),
      collectGarbage(context, blobs, options.blobGraceMs, options.blobClock),
      ...options.chores,
    ]
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await super[Symbol.asyncDispose]()
  }

  protected async round(): Promise<void> {
    const { db, clock } = this.#context
    for (const chore of this.#chores) {
      await doChore(db, clock, this.#holder, {
        ...chore,
        work: signal => chore.work(AbortSignal.any([signal, this.#stopping.signal])),
      })
    }
  }

  protected failed(error: unknown): void {
    if (this.#stopping.signal.aborted && !(error instanceof DatabaseUnavailable)) return
    logFailure(this.#context.log, error, {
      waiting: 'housekeeping waits for the database',
      failed: 'a chore failed',
    })
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

/** Sweeps the blobs that no row names; the grace is also the interval. */
function collectGarbage(context: Context, blobs: CollectableBlobs, graceMs: number, clock: Clock): Chore {
  return {
    name: 'collect-blobs',
    intervalMs: graceMs,
    work: async signal => {
      const collected = await collectBlobs({
        blobs,
        named: () => readNamedBlobs(context.db),
        graceMs,
        clock,
        signal,
      })
      context.log.info(collected, 'swept the blobs')
    },
  }
}
