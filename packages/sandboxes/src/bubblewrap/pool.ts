import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { allSettled } from '@berth/platform/kit/all-settled.ts'
import type { SandboxSpec } from '../driver.ts'
import { isMemoryTight } from '../linux/memory-pressure.ts'
import { OverlayError } from '../linux/overlay.ts'
import type { DriverContext } from './launch/driver-context.ts'
import type { PoolOptions } from './pool-options.ts'
import {
  bindReady,
  discardReady,
  fits,
  makeReady,
  mountIntoReady,
  nameReady,
  type ReadySandbox,
} from './ready-sandbox.ts'

/** The start of a Run comes first: what replaces its sandbox waits this long. */
const PAUSE_MS = 300
/** A start that finds no sandbox keeps a core busy for about this long. Starts of a burst that do not fit the cores follow each other. */
const START_MS = 600
const MOST_PAUSE_MS = 5_000
const POLL_MS = 5_000
/** Time that a taken sandbox counts as demand for. */
const DEMAND_MS = 120_000

/** Sandboxes that stand ready. Each serves one lease, and none after its process. */
export interface Pool extends AsyncDisposable {
  /**
   * Binds a sandbox to the lease, if one stands that is what the spec asks for.
   * @param serve opens the lease's proxy
   * @param remove destroys the lease
   * @returns false if the caller has to make the sandbox
   */
  take(spec: SandboxSpec, serve: () => Promise<void>, remove: () => Promise<void>): Promise<boolean>
  /** Resolves when the wanted sandboxes stand, or could not be made. */
  filled(): Promise<void>
}

/** Opens the pool and begins to fill it. */
export function openPool(context: DriverContext, options: PoolOptions): Pool {
  const { bounds, log } = context.options
  const { least, most, isTight = isMemoryTight } = options
  const ready: ReadySandbox[] = []
  const taken: number[] = []
  const closed = new AbortController()
  /** When the starts of Runs have probably ended. */
  let busyUntil = 0

  const untilQuiet = async () => {
    for (let ms = busyUntil - Date.now(); ms > 0; ms = busyUntil - Date.now())
      await sleep(ms, undefined, { signal: closed.signal, ref: false })
  }
  const wanted = (): number => {
    const since = Date.now() - DEMAND_MS
    while ((taken[0] ?? since) < since) taken.shift()
    return Math.min(most, Math.max(least, taken.length))
  }
  const discard = async (one: ReadySandbox) => {
    await discardReady(context, one).catch((error: unknown) => {
      log.warn({ err: error }, 'a sandbox that stood ready could not be removed yet')
    })
  }
  const adjust = async () => {
    for (const one of ready.filter(({ line }) => line.destroyed)) {
      ready.splice(ready.indexOf(one), 1)
      await discard(one)
    }
    const count = (await isTight()) ? 0 : wanted()
    for (const one of ready.splice(count)) await discard(one)
    while (!closed.signal.aborted && ready.length < count) {
      await untilQuiet()
      ready.push(await makeReady(context, bounds, options))
    }
  }
  let adjusting: Promise<void> = Promise.resolve()
  const next = (pauseMs: number) => {
    adjusting = adjusting
      .then(() => sleep(pauseMs, undefined, { signal: closed.signal, ref: false }))
      .then(adjust)
      .catch((error: unknown) => {
        if (!closed.signal.aborted) log.warn({ err: error }, 'no sandbox could be made ready ahead of demand')
      })
  }
  next(0)
  const timer = setInterval(() => next(0), POLL_MS).unref()

  return {
    async take(spec, serve, remove) {
      if (!fits(context, spec, options)) return false
      const now = Date.now()
      taken.push(now)
      const after = busyUntil + START_MS / availableParallelism()
      busyUntil = Math.max(now + PAUSE_MS, Math.min(after, now + MOST_PAUSE_MS))
      next(PAUSE_MS)
      for (;;) {
        const one = ready.shift()
        if (one === undefined) return false
        if (one.line.destroyed) {
          await discard(one)
          continue
        }
        try {
          nameReady(context, one, spec.leaseId)
        } catch (error) {
          await discard(one)
          throw error
        }
        try {
          await allSettled([serve(), mountIntoReady(context, one, spec)])
          await bindReady(one)
          return true
        } catch (error) {
          log.warn({ err: error, leaseId: spec.leaseId }, 'a sandbox that stood ready could not be used')
          one.line.destroy()
          await remove()
          if (error instanceof OverlayError) return false
        }
      }
    },
    filled: () => adjusting,
    async [Symbol.asyncDispose]() {
      closed.abort()
      clearInterval(timer)
      await adjusting
      for (const one of ready.splice(0)) await discard(one)
    },
  }
}
