import type { Failure } from './model-fault.ts'
import { readFailure } from './read-failure.ts'

/** Records how one model request went, so that its failure can be named. */
export interface Watched {
  readonly fetch: typeof fetch
  /** The gateway's refusal; null if it has not refused. */
  readonly refusal: Failure | null
  readonly unreachable: boolean
}

/**
 * Returns a `fetch` that records how its one request went and aborts a response that goes silent. The libraries only
 * bound the wait for the headers.
 */
export function watchFetch(idleMs: number): Watched {
  const state = { refusal: null as Failure | null, unreachable: false }
  return {
    get refusal() {
      return state.refusal
    },
    get unreachable() {
      return state.unreachable
    },
    async fetch(input, init) {
      let response: Response
      try {
        response = await fetch(input, init)
      } catch (error) {
        state.unreachable = true
        throw error
      }
      if (!response.ok) {
        state.refusal = await readFailure(response.clone())
        return response
      }
      if (response.body === null) return response
      return new Response(response.body.pipeThrough(idleGuard(idleMs)), response)
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
