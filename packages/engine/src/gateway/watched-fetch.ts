import type { Failure } from './model-fault.ts'
import { readFailure } from './read-failure.ts'

/** Records how one model request went, so that its failure can be named. */
export interface Watched {
  readonly fetch: typeof fetch
  /** The gateway's refusal; null if it has not refused. */
  readonly refusal: Failure | null
  readonly unreachable: boolean
}

/** The gateway's code for a budget at which the Run waits for people. */
const WAITS_FOR_PEOPLE = 'budget_reached'

/**
 * Returns a `fetch` that records how its one request went and aborts a response that goes silent. The libraries only
 * bound the wait for the headers. A request that a budget stands against is sent again until the gateway takes it.
 *
 * @param untilRaised waits before the request is sent again; throws once it is not to be
 */
export function watchFetch(idleMs: number, untilRaised: (signal: AbortSignal | undefined) => Promise<void>): Watched {
  const state = { refusal: null as Failure | null, unreachable: false }
  return {
    get refusal() {
      return state.refusal
    },
    get unreachable() {
      return state.unreachable
    },
    async fetch(input, init) {
      for (;;) {
        let response: Response
        try {
          response = await fetch(input, init)
        } catch (error) {
          state.unreachable = true
          throw error
        }
        if (response.ok) {
          if (response.body === null) return response
          return new Response(response.body.pipeThrough(idleGuard(idleMs)), response)
        }
        const refusal = await readFailure(response.clone())
        if (refusal.code !== WAITS_FOR_PEOPLE) {
          state.refusal = refusal
          return response
        }
        await response.body?.cancel()
        await untilRaised(init?.signal ?? undefined)
      }
    },
  }
}

function idleGuard(idleMs: number): TransformStream<Uint8Array, Uint8Array> {
  let timer: NodeJS.Timeout | undefined
  const watch = (controller: TransformStreamDefaultController<Uint8Array>) => {
    clearTimeout(timer)
    timer = setTimeout(() => controller.error(new Error(`the model has been silent for ${idleMs} ms`)), idleMs)
    timer.unref()
  }
  return new TransformStream({
    start: watch,
    transform(chunk, controller) {
      watch(controller)
      controller.enqueue(chunk)
    },
    flush: () => clearTimeout(timer),
    cancel: () => clearTimeout(timer),
  })
}
