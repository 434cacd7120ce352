/** Limits of the request bodies that this process holds at once. */
export interface BodyBounds {
  /** For all callers together; one organization may hold half of it. */
  readonly processBytes: number
  readonly callerBytes: number
  /** Bodies per caller that are still arriving, not counting small ones. */
  readonly callerBodies: number
  /** A body that delivers less than 64 KiB in this time is refused. */
  readonly patienceMs: number
}

/** The limits unless a setting overrides them. */
export const defaultBodyBounds: BodyBounds = {
  processBytes: 256 * 1024 ** 2,
  callerBytes: 64 * 1024 ** 2,
  callerBodies: 16,
  patienceMs: 20_000,
}

/** The owner of a body: one installation, person, key or Run of one organization. */
export interface BodyOwner {
  readonly organizationId: string
  readonly id: string
}

/** The bytes and bodies that one caller or one organization holds. */
interface Account {
  claims: number
  bytes: number
  arriving: number
}

/**
 * Counts the bytes of request bodies that this process holds, from their arrival to the end of their request. Without
 * this limit, bodies that never end could exhaust the memory of the process.
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

  /** Opens a claim for a body. The caller must release it when the request ends, however it ends. */
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

/** One request's share of the budget. */
export interface BodyClaim {
  /** Claims more bytes. Returns false, and claims nothing, if a limit forbids it. */
  grow(bytes: number): boolean
  /** Counts a body as arriving. Returns false if its caller already sends as many as it may. */
  arrive(): boolean
  /** Marks the body as complete or refused; from then on only its bytes count. */
  arrived(): void
  /** Returns everything to the budget. A second call does nothing. */
  release(): void
}
