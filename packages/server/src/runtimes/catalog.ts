import type { Runtime } from '@berth/contract'

/** An ACP agent that sandboxes can run. No runtime has a code path of its own beyond this entry. */
export interface RuntimeEntry {
  readonly id: string
  readonly name: string
  /** Absent where the agent does not tell. */
  readonly version?: string
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Endpoints its sandboxes reach beside public hosts by policy. */
  readonly reach: readonly string[]
  /** Paths below its home that hold its conversations; sealed with every Run. */
  readonly state: readonly string[]
  /** Keeps nothing between prompts, so that nothing of a conversation can be lost. */
  readonly stateless: boolean
  /** Directories of the host that its sandboxes see read-only. */
  readonly mounts: readonly string[]
}

/** Id that a Session without `runtime` runs on. */
export const NATIVE_RUNTIME = 'native'

/** The runtimes of this deployment. */
export class RuntimeCatalog {
  readonly #entries: ReadonlyMap<string, RuntimeEntry>
  readonly #version: string

  constructor(entries: readonly RuntimeEntry[], version: string) {
    this.#entries = new Map(entries.map(entry => [entry.id, entry]))
    this.#version = version
  }

  find(id: string): RuntimeEntry | null {
    return this.#entries.get(id) ?? null
  }

  /** Ids that a Session may name. */
  get ids(): readonly string[] {
    return [NATIVE_RUNTIME, ...this.#entries.keys()]
  }

  /** The runtimes as discovery lists them (completions, Discovery). */
  describe(): Runtime[] {
    const native = { id: NATIVE_RUNTIME, name: 'Berth', version: this.#version }
    return [
      { ...native, available: false, reason: 'This build has no native agent yet.' },
      ...[...this.#entries.values()].map(({ id, name, version = null }) => ({ id, name, version, available: true })),
    ]
  }
}
