import type { Runtime } from '@berth/contract'

/** What an agent is told of the model it is to use. */
export interface ModelFacts {
  /** As the gateway knows it: an id of its catalog, or an alias. */
  readonly id: string
  readonly contextTokens?: number
  readonly outputTokens?: number
}

/** An ACP agent that sandboxes can run. No runtime has a code path of its own beyond this entry. */
export interface RuntimeEntry {
  readonly id: string
  readonly name: string
  /** Absent where the agent does not tell. */
  readonly version?: string
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The values of `env` that are secret: masked in what the Sessions that run it tell. Absent: none. */
  readonly secrets?: readonly string[]
  /** Variables that tell its process which of the gateway's models to use; it must have one. Absent: it has its own. */
  readonly modelEnv?: (model: ModelFacts) => Readonly<Record<string, string>>
  /** The format that it speaks, where the gateway serves only some models in it: it must have one of those. */
  readonly speaks?: 'messages' | 'generate'
  /** Endpoints its sandboxes reach beside public hosts by policy. */
  readonly reach: readonly string[]
  /** Paths below its home that hold its conversations; sealed with every Run. */
  readonly state: readonly string[]
  /** Keeps nothing between prompts, so that nothing of a conversation can be lost. */
  readonly stateless: boolean
  /** Directories of the host that its sandboxes see read-only. */
  readonly mounts: readonly string[]
  /** Where its package was installed; its sandboxes see that at `/opt/runtime`. */
  readonly directory?: string
  /** What the deployment lacks for it, for people. Absent: nothing. */
  readonly lacks?: string
  /** Why this machine cannot run it now, for people; null where it can. Absent: every machine of the deployment can. */
  readonly missing?: () => string | null
}

/** Id that a Session without `runtime` runs on. */
export const NATIVE_RUNTIME = 'native'

/** The runtimes of this deployment. */
export class RuntimeCatalog {
  readonly #entries: ReadonlyMap<string, RuntimeEntry>

  constructor(entries: readonly RuntimeEntry[]) {
    this.#entries = new Map(entries.map(entry => [entry.id, entry]))
  }

  find(id: string): RuntimeEntry | null {
    return this.#entries.get(id) ?? null
  }

  /** Ids that a Session may name. */
  get ids(): readonly string[] {
    return [...this.#entries.keys()]
  }

  /** Ids of those that some machines have and others do not. */
  get installable(): readonly string[] {
    return [...this.#entries.values()].filter(entry => entry.missing !== undefined).map(entry => entry.id)
  }

  /** Those that this machine can run, of the ones that not every machine has. */
  get installed(): readonly string[] {
    return this.installable.filter(id => this.find(id)?.missing?.() === null)
  }

  /**
   * The runtimes as discovery lists them (completions, Discovery).
   * @param elsewhere those that a machine of the deployment can run, of the ones that not every machine has
   */
  describe(elsewhere: ReadonlySet<string>): Runtime[] {
    return [...this.#entries.values()].map(({ id, name, version = null, lacks, missing }) => {
      const reason = lacks ?? (elsewhere.has(id) ? null : (missing?.() ?? null))
      return reason === null ? { id, name, version, available: true } : { id, name, version, available: false, reason }
    })
  }
}
