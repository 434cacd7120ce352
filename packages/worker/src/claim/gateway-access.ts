import { EventEmitter, once } from 'node:events'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import type { SandboxService } from '@berth/sandboxes/driver.ts'
import type { RunClaim } from './claim.ts'
import { type GatewayLink, type GatewayLog, type GatewayRoute, openGatewayLink } from './gateway-link.ts'

/** The parts of the access to the gateway. */
export interface GatewayAccessOptions {
  /** Returns the gateway's URL, which may be unknown before the service listens. */
  url(): string
  /** Aborted once this process stops, if the gateway is its own. */
  readonly stopping?: AbortSignal
  /** Hears why the gateway does not answer. */
  readonly log: GatewayLog
  /** Number of requests that one sandbox may have at the gateway at once. */
  readonly sandboxRequests?: number
  /**
   * Whether a Run is under way on a lease although no worker may have it now. Absent: requests never wait for one. If it
   * fails, they do.
   */
  expects?(leaseId: string): Promise<boolean>
  /** Longest wait of a request for the worker that takes its Run over. */
  readonly arrivalMs?: number
  /** Makes a credential that only the gateway accepts, within the Run's budgets, and that ends with the Run. */
  mint(run: RunClaim, budgets: RunBudgets): Promise<string>
}

interface AtWork {
  readonly runId: string
  readonly credential: string
}

/** More than any agent has open; each request may hold a body of the gateway's maximum size. */
const SANDBOX_REQUESTS = 64
/** An agent outlives its worker, and may ask before the next one has taken its Run over. */
const ARRIVAL_MS = 15_000

/**
 * Connects the sandboxes of this worker to the gateway. It adds the credential of the Run at work to their requests, so no
 * sandbox ever holds one, nor does the host of one. Nothing has to be revoked in a sandbox when the Run ends, and a worker that takes over mints
 * its own credential.
 */
export class GatewayAccess implements Disposable {
  readonly #options: GatewayAccessOptions
  /** By lease id. */
  readonly #atWork = new Map<string, AtWork>()
  /** Hears the lease id of each Run that gets to work. */
  readonly #arrivals = new EventEmitter().setMaxListeners(0)
  readonly #link: GatewayLink

  constructor(options: GatewayAccessOptions) {
    this.#options = options
    this.#link = openGatewayLink(options.log)
  }

  /** Answers the requests of one lease's sandbox. */
  route(leaseId: string): SandboxService {
    const [link, route] = [this.#link, this.#routeOf(leaseId)]
    return { answer: (incoming, outgoing, target) => link.forward(incoming, outgoing, target, route) }
  }

  /** True while a Run is at work on a lease. */
  isAtWork(leaseId: string): boolean {
    return this.#atWork.has(leaseId)
  }

  /** Closes the idle connections to the gateway. */
  [Symbol.dispose](): void {
    this.#link[Symbol.dispose]()
  }

  #routeOf(leaseId: string): GatewayRoute {
    const [options, atWork] = [this.#options, this.#atWork]
    return {
      leaseId,
      get url() {
        return options.url()
      },
      stopping: options.stopping,
      mostRequests: options.sandboxRequests ?? SANDBOX_REQUESTS,
      bearer: () => atWork.get(leaseId)?.credential ?? null,
      arrival: () => this.#arrival(leaseId),
    }
  }

  async #arrival(leaseId: string): Promise<string | null | 'late'> {
    const { arrivalMs = ARRIVAL_MS, expects } = this.#options
    const expected = (await expects?.(leaseId).catch(() => true)) ?? false
    if (!expected) return null
    if (!this.#atWork.has(leaseId)) {
      await once(this.#arrivals, leaseId, { signal: AbortSignal.timeout(arrivalMs) }).catch(() => undefined)
    }
    return this.#atWork.get(leaseId)?.credential ?? 'late'
  }

  /** Opens the gateway to a Run at work on a lease, until the result is disposed of. */
  async open(run: RunClaim, leaseId: string, budgets: RunBudgets): Promise<Disposable> {
    const atWork = { runId: run.runId, credential: await this.#options.mint(run, budgets) }
    using stack = new DisposableStack()
    this.#atWork.set(leaseId, atWork)
    this.#arrivals.emit(leaseId)
    // A worker may adopt its own Run after the process was paused; the newer credential then stays.
    stack.defer(() => this.#atWork.get(leaseId) === atWork && this.#atWork.delete(leaseId))
    return stack.move()
  }
}
