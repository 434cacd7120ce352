/** How much of request bodies this process holds at once. */
export interface BodyBounds {
  /** Of all callers together; one organization has half of it at most. */
  readonly processBytes: number
  readonly callerBytes: number
  /** Bodies of one caller that are still arriving, beside small ones. */
  readonly callerBodies: number
  /** A body that brings less than 64 KiB in this long is given up. */
  readonly patienceMs: number
}

/** The bounds where no setting says otherwise. */
export const defaultBodyBounds: BodyBounds = {
  processBytes: 256 * 1024 ** 2,
  callerBytes: 64 * 1024 ** 2,
  callerBodies: 16,
  patienceMs: 20_000,
}

/** Whose body it is: one installation, person, key or Run, of one organization. */
export interface BodyOwner {
  readonly organizationId: string
  readonly id: string
}

/** What one caller or one organization holds. */
interface Account {
  claims: number
  bytes: number
  arriving: number
}

/**
 * The bytes of request bodies that this process holds, counted as they arrive and given back when their request ends.
 * Without it, bodies whose last byte never comes would take the memory of the process.
 */
export class BodyBudget {
  readonly #bounds: BodyBounds
  readonly #accounts = new Map<string, Account>()
  #bytes = 0

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#bytes
  }

  /** Begins to hold a body. Whoever calls this releases the claim when the request ends, however it ends. */
  open({ organizationId, id }: BodyOwner): BodyClaim {
    const { processBytes, callerBytes, callerBodies } = this.#bounds
    const names = [organizationId, `${organizationId} ${id}`] as const
    const [organization, caller] = [this.#enter(names[0]), this.#enter(names[1])]
    const own = { bytes: 0, arriving: 0 }
    const move = (bytes: number, bodies: number) => {
      this.#bytes += bytes
      for (const account of [own, caller, organization]) {
        account.bytes += bytes
        account.arriving += bodies
      }
    }
    let open = true
    return {
      grow: bytes => {
        if (!open || this.#bytes + bytes > processBytes || organization.bytes + bytes > processBytes / 2) return false
        if (caller.bytes + bytes > callerBytes) return false
        move(bytes, 0)
        return true
      },
      arrive: () => {
        if (!open || caller.arriving >= callerBodies) return false
        move(0, 1)
        return true
      },
      arrived: () => move(0, -own.arriving),
      release: () => {
        if (!open) return
        open = false
        move(-own.bytes, -own.arriving)
        for (const name of names) this.#leave(name)
      },
    }
  }

  #enter(name: string): Account {
    const account = this.#accounts.get(name) ?? { claims: 0, bytes: 0, arriving: 0 }
    account.claims += 1
    this.#accounts.set(name, account)
    return account
  }

  #leave(name: string): void {
    const account = this.#accounts.get(name)
    if (account === undefined) return
    account.claims -= 1
    if (account.claims === 0) this.#accounts.delete(name)
  }
}

/** What one request holds of the budget. */
export interface BodyClaim {
  /** Takes more bytes; false, and nothing taken, if a bound does not allow them. */
  grow(bytes: number): boolean
  /** Counts a body that is still arriving; false if its caller sends as many as it may. */
  arrive(): boolean
  /** The body is whole or given up: it counts by its bytes alone. */
  arrived(): void
  /** Gives everything back; a second call does nothing. */
  release(): void
}
