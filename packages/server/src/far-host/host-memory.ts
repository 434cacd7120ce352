import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../kit/system-errors.ts'

/** A host has as many sandboxes as it may. */
export class HostIsFull extends Error {
  override readonly name = 'HostIsFull'
}

interface Remembered {
  /** The contents that each sandbox sees, by lease id. */
  readonly leases: Readonly<Record<string, readonly string[]>>
  /** The highest number of a connection that this host has had. */
  readonly epoch: number
  /** When it was last connected, in milliseconds since the epoch of clocks; 0: never. */
  readonly heardAt: number
  /** It keeps its sandboxes without its service for this long. */
  readonly leaseMaxMs: number
}

const NAME = 'host.json'
const nothing: Remembered = { leases: {}, epoch: 0, heardAt: 0, leaseMaxMs: 0 }

/** What a host has to know after a crash. Each change is on disk before it counts. */
export class HostMemory {
  readonly #path: string
  #known: Remembered

  constructor(dataDir: string) {
    this.#path = join(dataDir, NAME)
    this.#known = { ...nothing, ...readIfWhole(this.#path) }
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
    if (gone !== undefined) this.#write({ leases })
  }

  /** Forgets all sandboxes but these. */
  prune(live: readonly string[]): void {
    const { leases } = this.#known
    this.#write({ leases: Object.fromEntries(live.map(id => [id, leases[id] ?? []])) })
  }

  /** Notes that the service was heard of, and how long sandboxes live without it. */
  heard(at: number, { epoch, leaseMaxMs }: { readonly epoch: number; readonly leaseMaxMs: number }): void {
    this.#write({ heardAt: at, epoch, leaseMaxMs })
  }

  stillHeard(at: number): void {
    this.#write({ heardAt: at })
  }

  /** Returns whether the service has been silent for longer than any sandbox lives. */
  isAbandoned(now: number): boolean {
    const { heardAt, leaseMaxMs } = this.#known
    return leaseMaxMs > 0 && now - heardAt > leaseMaxMs
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
