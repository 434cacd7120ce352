import { setTimeout as sleep } from 'node:timers/promises'
import { doublingMs } from '@berth/platform/kit/backoff.ts'
import type { Service } from '@berth/platform/kit/service.ts'
import type { Logger } from 'pino'

/** Time that the gateway has for an answer. */
const PATIENCE_MS = 5_000
/** First pause between two probes; each further one doubles. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 30_000
/** A gateway that is still starting gets this many probes before a warning. */
const QUIET_PROBES = 6

/** The kind of server found at the gateway's URL. */
type ProbeResult = 'gateway' | 'other' | 'nothing'

/**
 * Probes the gateway's URL when a worker starts. Otherwise a wrong URL would show only later, when every model call of
 * an agent fails. It probes until the gateway answers. A gateway without an answer may be starting; another server in
 * its place is an error at once, and the process is not ready.
 */
export class GatewayCheck implements Service {
  readonly name = 'gateway-check'
  readonly #of: { readonly url: () => string; readonly log: Logger; readonly pauseMs: number }
  readonly #stop = new AbortController()
  #probing: Promise<void> = Promise.resolve()
  #result: ProbeResult = 'nothing'

  constructor(of: { readonly url: () => string; readonly log: Logger; readonly pauseMs?: number }) {
    this.#of = { pauseMs: FIRST_PAUSE_MS, ...of }
  }

  /** Probes in the background; the URL must be known by now. */
  async start(): Promise<void> {
    this.#probing = this.#probeUntilSeen()
  }

  /** @throws Error while the last probe found another server at the gateway's URL */
  async check(): Promise<void> {
    if (this.#result === 'other')
      throw new Error(`the server at ${this.#of.url()} is no gateway: correct BERTH_GATEWAY_URL`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#probing
  }

  async #probeUntilSeen(): Promise<void> {
    const { signal } = this.#stop
    let reported: ProbeResult | null = null
    for (let probes = 1; !signal.aborted; probes += 1) {
      const before = this.#result
      this.#result = await probe(this.#of.url(), signal)
      if (signal.aborted) return
      if (this.#result === 'gateway') {
        if (reported !== null) this.#of.log.info({ gatewayUrl: this.#of.url() }, 'the gateway answers now')
        return
      }
      if (this.#result !== before || probes === QUIET_PROBES) reported = this.#report(probes) ?? reported
      const pauseMs = doublingMs(probes, this.#of.pauseMs, LONGEST_PAUSE_MS)
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }

  #report(probes: number): ProbeResult | null {
    const { url, log } = this.#of
    if (this.#result === 'other') {
      log.error(
        { gatewayUrl: url() },
        'BERTH_GATEWAY_URL (else BERTH_AUTH_URL) does not lead to a gateway, so agents have no models: correct it',
      )
    } else if (probes >= QUIET_PROBES) {
      log.warn({ gatewayUrl: url() }, 'the gateway does not answer yet, so agents have no models; probing continues')
    } else {
      return null
    }
    return this.#result
  }
}

/**
 * Returns the kind of server by its answer to a call without a credential: only the gateway refuses with OpenAI's error
 * body.
 */
async function probe(url: string, stopping: AbortSignal): Promise<ProbeResult> {
  try {
    const answer = await fetch(`${url}/v1/models`, {
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(PATIENCE_MS)]),
    })
    // A proxy in front of a gateway that is starting answers so.
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
