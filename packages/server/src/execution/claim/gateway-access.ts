import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayRoute } from '../../sandboxes/driver.ts'
import type { RunBudgets } from '../../settings/run-budgets.ts'
import type { RunClaim } from './claim-sql.ts'

/** What the way to the gateway is made of. */
export interface GatewayMeans {
  /** Answers the gateway's URL, which may not be known before the service listens. */
  url(): string
  /** The gateway itself, where it is of this process. */
  here?(): RequestListener | null
  /** Resolves once that gateway has kept what a Run has used of it so far; null where all of it is kept. */
  settled?(runId: string): Promise<unknown> | null
  /** Requests that one sandbox may have at the gateway at once. */
  readonly sandboxRequests?: number
  /** Makes a credential that reaches the gateway within the Run's budgets and ends with it. */
  mint(run: RunClaim, budgets: RunBudgets): Promise<string>
}

/** More than any agent has open; each may hold a body of the gateway's size. */
const SANDBOX_REQUESTS = 64
/** The end of a Run waits this long for what it used, which the log then tells as not wholly known. */
const SETTLING_MS = 10_000

/**
 * How the sandboxes of this worker get to the gateway: through their proxies, which put in the credential of the Run
 * that is at work. No sandbox ever holds one, so there is nothing to take away from it when the Run ends, and a worker
 * that takes over mints its own.
 *
 * A gateway of this process answers a Run before it has kept what the answer cost. So whatever follows upon the answer
 * waits here instead: the Run's next request, which is judged by what it has spent, and its end, which tells of it.
 */
export class GatewayAccess {
  readonly #means: GatewayMeans
  /** By lease. */
  readonly #atWork = new Map<string, { readonly runId: string; readonly credential: string }>()

  constructor(means: GatewayMeans) {
    this.#means = means
  }

  /** The way of one lease's sandbox, for as long as its proxy is served. */
  route(leaseId: string): GatewayRoute {
    const [means, atWork] = [this.#means, this.#atWork]
    return {
      get url() {
        return means.url()
      },
      get here() {
        const gateway = means.here?.() ?? null
        const run = atWork.get(leaseId)
        return gateway === null || run === undefined ? gateway : inOrder(gateway, () => means.settled?.(run.runId))
      },
      mostRequests: means.sandboxRequests ?? SANDBOX_REQUESTS,
      bearer: () => atWork.get(leaseId)?.credential ?? null,
    }
  }

  /** Resolves once all that a Run has used of a gateway of this process is kept, or as long as its end waits for it. */
  async settled(runId: string): Promise<void> {
    const settled = this.#means.settled?.(runId) ?? null
    if (settled === null) return
    const waited = new AbortController()
    await Promise.race([settled, sleep(SETTLING_MS, undefined, { signal: waited.signal }).catch(() => undefined)])
    waited.abort()
  }

  /** Lets a Run that is at work on a lease through, until it is disposed of. */
  async open(run: RunClaim, leaseId: string, budgets: RunBudgets): Promise<Disposable> {
    const atWork = { runId: run.runId, credential: await this.#means.mint(run, budgets) }
    using stack = new DisposableStack()
    this.#atWork.set(leaseId, atWork)
    // A worker may adopt its own Run after a pause of the process: then the newer credential stays.
    stack.defer(() => this.#atWork.get(leaseId) === atWork && this.#atWork.delete(leaseId))
    return stack.move()
  }
}

/** A gateway that is asked once nothing is being settled any more. */
function inOrder(gateway: RequestListener, settled: () => Promise<unknown> | null | undefined): RequestListener {
  return (incoming, outgoing) => {
    const first = settled() ?? null
    if (first === null) gateway(incoming, outgoing)
    else void first.then(() => gateway(incoming, outgoing))
  }
}
