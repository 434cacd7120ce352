import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Service } from '../../kit/service.ts'

/** Answers within this long, or not. */
const PATIENCE_MS = 5_000
/** Between two looks, until the gateway has been seen. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 30_000
/** A gateway that is still starting is not complained of sooner. */
const QUIET_LOOKS = 6

/** What is there at the gateway's URL. */
type Sight = 'gateway' | 'other' | 'nothing'

/**
 * Looks, when a worker starts, whether the gateway is where the settings say: with a wrong URL every call that an agent
 * makes to a model would be refused, long after. It looks until it has seen it. One that does not answer yet may be
 * starting; something else in its place is an error at once, and the process is not ready.
 */
export class GatewayCheck implements Service {
  readonly name = 'gateway-check'
  readonly #of: { readonly url: () => string; readonly log: Logger; readonly pauseMs: number }
  readonly #stop = new AbortController()
  #looking: Promise<void> = Promise.resolve()
  #sight: Sight = 'nothing'

  constructor(of: { readonly url: () => string; readonly log: Logger; readonly pauseMs?: number }) {
    this.#of = { pauseMs: FIRST_PAUSE_MS, ...of }
  }

  /** Looks in the background; the URL must be known by now. */
  async start(): Promise<void> {
    this.#looking = this.#look()
  }

  /** @throws Error while something else than the gateway was last seen at its URL */
  async check(): Promise<void> {
    if (this.#sight === 'other') throw new Error(`there is no gateway at ${this.#of.url()}`)
  }

  async drain(): Promise<void> {
    this.#stop.abort()
    await this.#looking
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  async #look(): Promise<void> {
    const { signal } = this.#stop
    let complained: Sight | null = null
    for (let looks = 1; !signal.aborted; looks += 1) {
      const before = this.#sight
      this.#sight = await sightOf(this.#of.url(), signal)
      if (signal.aborted) return
      if (this.#sight === 'gateway') {
        if (complained !== null) this.#of.log.info({ gatewayUrl: this.#of.url() }, 'the gateway is there now')
        return
      }
      if (this.#sight !== before || looks === QUIET_LOOKS) complained = this.#complain(looks) ?? complained
      const pauseMs = Math.min(this.#of.pauseMs * 2 ** (looks - 1), LONGEST_PAUSE_MS)
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }

  #complain(looks: number): Sight | null {
    const { url, log } = this.#of
    if (this.#sight === 'other') {
      log.error(
        { gatewayUrl: url() },
        'BERTH_GATEWAY_URL (else BERTH_AUTH_URL) leads to no gateway: models will refuse agents',
      )
    } else if (looks >= QUIET_LOOKS) {
      log.warn({ gatewayUrl: url() }, 'the gateway does not answer yet: agents have no models; looking on')
    } else {
      return null
    }
    return this.#sight
  }
}

/** By how it refuses a call without a credential: only the gateway's paths have an error body of OpenAI's. */
async function sightOf(url: string, stopping: AbortSignal): Promise<Sight> {
  try {
    const answer = await fetch(`${url}/v1/models`, {
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(PATIENCE_MS)]),
    })
    // What stands before a gateway that is starting says so, in words of its own.
    if (answer.status >= 500) {
      await answer.body?.cancel()
      return 'nothing'
    }
    const body: unknown = await answer.json().catch(() => null)
    const { error } = (body ?? {}) as { readonly error?: unknown }
    return answer.status === 401 && typeof error === 'object' && error !== null ? 'gateway' : 'other'
  } catch {
    return 'nothing'
  }
}
