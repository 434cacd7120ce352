import type { RequestListener } from 'node:http'
import type { RunBudgets } from '../runs/run-budgets.ts'
import type { GatewayRoute } from '../sandboxes/driver.ts'
import { knownSecrets } from '../secrets.ts'
import type { RunClaim } from './execution-sql.ts'

/** What the way to the gateway is made of. */
export interface GatewayMeans {
  /** Answers the gateway's URL, which may not be known before the service listens. */
  url(): string
  /** The gateway itself, where it is of this process. */
  here?(): RequestListener | null
  /** Makes a credential that reaches the gateway within the Run's budgets and ends with it. */
  mint(run: RunClaim, budgets: RunBudgets): Promise<string>
}

/**
 * How the sandboxes of this worker get to the gateway: through their proxies, which put in the credential of the Run
 * that is at work. No sandbox ever holds one, so there is nothing to take away from it when the Run ends, and a worker
 * that takes over mints its own.
 */
export class GatewayAccess {
  readonly #means: GatewayMeans
  readonly #credentials = new Map<string, string>()

  constructor(means: GatewayMeans) {
    this.#means = means
  }

  /** The way of one lease's sandbox, for as long as its proxy is served. */
  route(leaseId: string): GatewayRoute {
    const [means, credentials] = [this.#means, this.#credentials]
    return {
      get url() {
        return means.url()
      },
      get here() {
        return means.here?.() ?? null
      },
      bearer: () => credentials.get(leaseId) ?? null,
    }
  }

  /** Lets a Run that is at work on a lease through, until it is disposed of. */
  async open(run: RunClaim, leaseId: string, budgets: RunBudgets): Promise<Disposable> {
    const credential = await this.#means.mint(run, budgets)
    using stack = new DisposableStack()
    stack.use(knownSecrets.add(credential))
    this.#credentials.set(leaseId, credential)
    // A worker may adopt its own Run after a pause of the process: then the newer credential stays.
    stack.defer(() => this.#credentials.get(leaseId) === credential && this.#credentials.delete(leaseId))
    return stack.move()
  }
}
