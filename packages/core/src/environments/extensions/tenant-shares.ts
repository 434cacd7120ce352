import type { Clock } from '@berth/platform/kit/clock.ts'
import { type HostCache, RECENT_MS } from '@berth/platform/storage/host-cache.ts'
import { ExtensionFault } from './unpacked-extensions.ts'
import { MAX_UNPACKED_BYTES } from './unpacked-limits.ts'

export interface TenantSharesOptions {
  /** Holds the unpacked extensions of this host. */
  readonly cache: HostCache
  /** Of extensions that one organization keeps on this host at a time. */
  readonly bytes: number
  /** Returns the digests of uploaded extensions that live sandboxes of an organization show. */
  readonly shownBy: (organizationId: string) => Promise<readonly string[]>
  readonly clock: Clock
}

/**
 * Keeps one organization from filling the room that a host has for unpacked extensions. An entry cannot go while a
 * sandbox shows it, nor for a while after somebody has asked for it, so both count. Whatever several organizations show
 * counts for each of them.
 */
export class TenantShares {
  readonly #options: TenantSharesOptions
  /** When each organization last asked for an extension, in milliseconds. */
  readonly #requested = new Map<string, Map<string, number>>()

  constructor(options: TenantSharesOptions) {
    this.#options = options
  }

  /**
   * Counts an extension as asked for by an organization.
   * @throws ExtensionFault if the organization would keep more than its share
   */
  async take(organizationId: string, sha256: string): Promise<void> {
    const { bytes: most, shownBy } = this.#options
    const requested = this.#requestedBy(organizationId)
    const isNew = !requested.has(sha256)
    requested.set(sha256, this.#now())
    const shown = await shownBy(organizationId)
    const bytes = await this.#bytesOf(new Set([...requested.keys(), ...shown]), requested)
    if (bytes <= most || shown.includes(sha256)) return
    if (isNew) requested.delete(sha256)
    throw new ExtensionFault('sandboxes of the organization show as many extensions on this host as they may')
  }

  /** Forgets an extension that could not be unpacked. */
  giveBack(organizationId: string, sha256: string): void {
    this.#requestedBy(organizationId).delete(sha256)
  }

  /** What is asked for and not there is about to be written, and takes what was reserved for it. */
  async #bytesOf(digests: ReadonlySet<string>, requested: ReadonlyMap<string, number>): Promise<number> {
    let bytes = 0
    for (const digest of digests)
      bytes += (await this.#options.cache.bytesOf(digest)) ?? (requested.has(digest) ? MAX_UNPACKED_BYTES : 0)
    return bytes
  }

  #requestedBy(organizationId: string): Map<string, number> {
    const before = this.#now() - RECENT_MS
    for (const [organization, requested] of this.#requested) {
      for (const [digest, at] of requested) if (at < before) requested.delete(digest)
      if (requested.size === 0) this.#requested.delete(organization)
    }
    const requested = this.#requested.get(organizationId) ?? new Map<string, number>()
    this.#requested.set(organizationId, requested)
    return requested
  }

  #now(): number {
    return this.#options.clock.now().getTime()
  }
}
