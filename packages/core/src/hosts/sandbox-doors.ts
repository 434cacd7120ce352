import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import type { SupervisorDoor } from '@berth/sandboxes/leases/supervisor-door.ts'
import type { Hosts } from './hosts.ts'
import { relayDoor } from './relay/relay-door.ts'
import { findHostOfLease, findRelay } from './relay/relay-sql.ts'
import type { RelayTokens } from './relay/relay-tokens.ts'

/**
 * The ways from this process to sandboxes, wherever they are: on its own machine, at a host whose connection it has, or
 * through the process that holds their host.
 */
export class SandboxDoors {
  readonly #own: { readonly host: string; readonly door: SupervisorDoor }
  readonly #held: Pick<Hosts, 'holds' | 'of'> | null
  readonly #tokens: Pick<RelayTokens, 'mint'>

  /** @param held hosts of this process's worker; null if it has none */
  constructor(
    own: { readonly host: string; readonly door: SupervisorDoor },
    held: Pick<Hosts, 'holds' | 'of'> | null,
    tokens: Pick<RelayTokens, 'mint'>,
  ) {
    this.#own = own
    this.#held = held
    this.#tokens = tokens
  }

  /** Returns the way to the sandboxes of a host that this process reaches by itself; null if it does not. */
  localDoor(host: string): SupervisorDoor | null {
    if (host === this.#own.host) return this.#own.door
    return this.#held?.holds(host) === true ? doorOf(this.#held.of(host).driver) : null
  }

  /** Returns the way to the sandboxes of a host; null if there is none. */
  async to(db: Queryable, host: string): Promise<SupervisorDoor | null> {
    const local = this.localDoor(host)
    if (local !== null) return local
    const url = await findRelay(db, host)
    return url === null ? null : relayDoor(url, host, this.#tokens)
  }

  /** Returns the way to the sandbox of a lease; null if there is none. */
  async toLease(db: Queryable, leaseId: string): Promise<SupervisorDoor | null> {
    const host = await findHostOfLease(db, leaseId)
    return host === null ? null : this.to(db, host)
  }
}

/** The way to the sandboxes of a host through its driver. */
function doorOf(driver: SandboxDriver): SupervisorDoor {
  return {
    attach: (leaseId, signal) => driver.attach(leaseId, signal),
    async isStopped(leaseId) {
      const state = await driver.stateOf(leaseId)
      return state === 'freezing' || state === 'frozen' || state === 'parked'
    },
  }
}
