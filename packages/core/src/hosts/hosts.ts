import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import type { PackageLayers } from '@berth/sandboxes/packages/package-layers.ts'
import type { CheckpointTrees } from '../checkpoints/checkpoint-trees.ts'
import type { HostImages } from '../environments/images/host-images.ts'
import type { Checkouts } from '../repositories/checkouts.ts'
import type { Mirrors } from '../repositories/mirrors.ts'

/** A machine that holds sandboxes, as a process works with it: with its own driver, or over the host's connection. */
export interface Host {
  readonly id: string
  readonly driver: SandboxDriver
  /** Mirrors of repositories, whose objects its sandboxes borrow. */
  readonly mirrors: Mirrors
  /** Its checkouts of repositories. */
  readonly checkouts: Checkouts
  /** Its copies of checkpoints. */
  readonly checkpoints: CheckpointTrees
  /** Its copies of environments' images. */
  readonly images: HostImages
  /** Its layers of system packages. */
  readonly packages: PackageLayers
  /** The runtimes that it has and that only some machines have; absent: those that this process finds on its own machine. */
  readonly installed?: () => readonly string[]
  /** Whether a line leads to it now; absent: it needs none. */
  readonly isLive?: () => boolean
  /** Keeps it from further sandboxes after failures; absent: it never rests. */
  readonly rest?: HostRest
}

/** The rest of one host after failures, kept in its row for all processes. */
export interface HostRest {
  /** Lets it rest, since a sandbox could not be made because it was away. */
  begin(error: unknown): Promise<void>
  /** Notes that a sandbox was made there, and answers. */
  end(): Promise<void>
}

/** A host was asked for that this process does not hold, or no longer. Another process may hold it. */
export class HostNotHeld extends Error {
  override readonly name = 'HostNotHeld'

  constructor(hostId: string) {
    super(`this process does not hold host ${hostId}`)
  }
}

/** The hosts that this process holds: that of its own machine, and those whose connections it has. */
export class Hosts {
  readonly #held = new Map<string, Host>()
  readonly #listeners = new Set<(change: HostChange) => void>()

  constructor(held: readonly Host[] = []) {
    for (const host of held) this.#held.set(host.id, host)
  }

  /** In the order in which they came. */
  held(): readonly Host[] {
    return [...this.#held.values()]
  }

  ids(): readonly string[] {
    return [...this.#held.keys()]
  }

  holds(id: string): boolean {
    return this.#held.has(id)
  }

  /** @throws HostNotHeld */
  of(id: string): Host {
    const host = this.#held.get(id)
    if (host === undefined) throw new HostNotHeld(id)
    return host
  }

  /** Holds a host from now on, in place of one with the same id. */
  add(host: Host): void {
    this.#held.set(host.id, host)
    this.#notify({ added: host.id })
  }

  /** Tells that the line to a held host stands again. */
  returned(id: string): void {
    if (this.#held.has(id)) this.#notify({ added: id })
  }

  /** Holds a host no longer. Work for it ends here, and goes on at whoever holds it next. */
  remove(id: string): void {
    if (this.#held.delete(id)) this.#notify({ removed: id })
  }

  /** @returns ends the subscription */
  subscribe(listener: (change: HostChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #notify(change: HostChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}

export type HostChange = { readonly added: string } | { readonly removed: string }

/** A sandbox, and where it is. */
export interface LeasePlace {
  readonly leaseId: string
  readonly host: string
}
