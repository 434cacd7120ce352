import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '@berth/platform/kit/system-errors.ts'

/** A host has as many sandboxes as it may. */
export class HostIsFull extends Error {
  override readonly name = 'HostIsFull'
}

interface Remembered {
  /** The contents that each sandbox sees, by lease id. */
  readonly leases: Readonly<Record<string, readonly string[]>>
  /** Whom the service took this host for: its token stands for that. Null: never connected, or by an earlier release. */
  readonly admission: string | null
  /** The highest number of a connection that this host has had, as that admission. */
  readonly epoch: number
  /** When it was last connected, in milliseconds since the epoch of clocks; 0: never. */
  readonly heardAt: number
  /** It keeps its sandboxes without its service for this long. */
  readonly leaseMaxMs: number
}

const NAME = 'host.json'
const nothing: Remembered = { leases: {}, admission: null, epoch: 0, heardAt: 0, leaseMaxMs: 0 }

/**
 * What a host has to know after a crash. A sandbox is noted on disk before it is made. The rest may be behind on disk while that is
 * full: the driver's list says which sandboxes there are, and the service's connections are numbered upwards anyway.
 */
export class HostMemory {
  readonly #path: string
  #known: Remembered

  constructor(dataDir: string) {
    this.#path = join(dataDir, NAME)
    this.#known = { ...nothing, ...readIfWhole(this.#path) }
  }

  get admission(): string | null {
    return this.#known.admission
  }

  get epoch(): number {
    return this.#known.epoch
  }

  get leases(): readonly string[] {
    return Object.keys(this.#known.leases)
  }

  contents(): ReadonlySet<string> {
    return new Set(Object.values(this.#known.leases).flat())
  }

  /**
   * Notes a sandbox before it is made; one of the same name stands.
   * @throws HostIsFull
   */
  keep(leaseId: string, contents: readonly string[], capacity: number): void {
    const { leases } = this.#known
    if (Object.hasOwn(leases, leaseId)) return
    if (Object.keys(leases).length >= capacity) {
      throw new HostIsFull(`this host has ${capacity} sandboxes, as many as it may`)
    }
    this.#write({ leases: { ...leases, [leaseId]: contents } })
  }

  forget(leaseId: string): void {
    const { [leaseId]: gone, ...leases } = this.#known.leases
    if (gone !== undefined) this.#writeIfRoom({ leases })
  }

  /** Forgets all sandboxes but these. */
  prune(live: readonly string[]): void {
    const { leases } = this.#known
    this.#writeIfRoom({ leases: Object.fromEntries(live.map(id => [id, leases[id] ?? []])) })
  }

  /** Notes that the service was heard of, as whom, and how long sandboxes live without it. */
  heard(at: number, connection: Pick<Remembered, 'admission' | 'epoch' | 'leaseMaxMs'>): void {
    this.#writeIfRoom({ heardAt: at, ...connection })
  }

  stillHeard(at: number): void {
    this.#writeIfRoom({ heardAt: at })
  }

  /** Returns whether the service has been silent for longer than any sandbox lives. */
  isAbandoned(now: number): boolean {
    const { heardAt, leaseMaxMs } = this.#known
    return leaseMaxMs > 0 && now - heardAt > leaseMaxMs
  }

  /** A host whose disk is full has to stay connected, or nobody could take its sandboxes back. */
  #writeIfRoom(changes: Partial<Remembered>): void {
    try {
      this.#write(changes)
    } catch (error) {
      const code = errorCode(error)
      if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error
      this.#known = { ...this.#known, ...changes }
    }
  }

  #write(changes: Partial<Remembered>): void {
    const known = { ...this.#known, ...changes }
    writeFileSync(`${this.#path}.new`, JSON.stringify(known), { mode: 0o600, flush: true })
    renameSync(`${this.#path}.new`, this.#path)
    this.#known = known
  }
}

function readIfWhole(path: string): Partial<Remembered> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Partial<Remembered>
  } catch (error) {
    // A power cut may have left an empty file; the driver's list is the truth about sandboxes.
    if (errorCode(error) === 'ENOENT' || error instanceof SyntaxError) return {}
    throw error
  }
}
