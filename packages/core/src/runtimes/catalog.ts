import type { Effort, Runtime } from '@berth/contract'
import type { Reasoning } from './reasoning.ts'

/** Facts that an agent gets about its model. */
export interface ModelFacts {
  /** The gateway's name for it: an id of its catalog, or an alias. */
  readonly id: string
  readonly contextTokens?: number
  readonly outputTokens?: number
  /** How hard it may think, in Berth's word and in its provider's; absent for its default. */
  readonly effort?: { readonly level: Effort; readonly word: string; readonly control: Reasoning['control'] }
}

/** An ACP agent that sandboxes can run. This entry is all that is specific to a runtime. */
export interface RuntimeEntry {
  readonly id: string
  readonly name: string
  /** Absent if the agent does not report one. */
  readonly version?: string
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The secret values of `env`, masked in all output of Sessions that run it. Absent: none. */
  readonly secrets?: readonly string[]
  /** Variables that tell its process which model of the gateway to use, and how. Absent: it chooses its own. */
  readonly modelEnv?: (model: ModelFacts) => Readonly<Record<string, string>>
  /** Its format, if only models of providers that speak it serve; the Run's model must be one of those. */
  readonly speaks?: 'responses' | 'messages' | 'generate'
  /** Endpoints that its sandboxes reach besides public hosts by policy. */
  readonly reach: readonly string[]
  /** Paths below its home that hold its conversations; sealed with every Run. */
  readonly state: readonly string[]
  /** Directories below its home from which it reads skills, besides `.agents/skills`. */
  readonly skills?: readonly string[]
  /** Variables of a process that is given MCP servers, besides `env`. */
  readonly serversEnv?: Readonly<Record<string, string>>
  /** True if it goes on repeating a conversation after it has answered that it is loaded. */
  readonly repeatsLate?: boolean
  /** True if it keeps nothing between prompts, so no conversation can be lost. */
  readonly stateless: boolean
  /** True if a prompt is a script: the agent can be told nothing beside it, and never to do it again. */
  readonly isScript?: boolean
  /** True if it takes a message while it works, by `_berth/steer`; ACP itself has no such request. */
  readonly steers?: boolean
  /** Directories of the host that its sandboxes see read-only. */
  readonly mounts: readonly string[]
  /** Directory of its installed package; its sandboxes see that at `/opt/runtime`. */
  readonly directory?: string
  /** For people: the missing part of the deployment. Absent: nothing. */
  readonly lacks?: string
  /** For people: why this machine cannot run it now; null if it can. Absent: every machine of the deployment can. */
  readonly missing?: () => string | null
}

/** The runtime of a Session without `runtime`. */
export const NATIVE_RUNTIME = 'native'

/** A script that shows people what an agent does. */
export const DEMO_RUNTIME = 'demo'

const anyEffort = { level: 'medium', word: 'medium', control: 'effort' } as const

/** The runtimes of this deployment. */
export class RuntimeCatalog {
  readonly #entries: ReadonlyMap<string, RuntimeEntry>

  constructor(entries: readonly RuntimeEntry[]) {
    this.#entries = new Map(entries.map(entry => [entry.id, entry]))
  }

  find(id: string): RuntimeEntry | null {
    return this.#entries.get(id) ?? null
  }

  /** Paths below a sandbox's home in which any runtime keeps its conversations. */
  get states(): readonly string[] {
    return [...this.#entries.values()].flatMap(({ state }) => state)
  }

  /** Names of the variables that runtimes set in their agents, each with the id of one that does. */
  get variables(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#entries.values()].flatMap(({ id, env, modelEnv }) =>
        Object.keys({ ...env, ...modelEnv?.({ id: 'model', effort: anyEffort }) }).map(name => [name, id] as const),
      ),
    )
  }

  /** Ids that a Session may name. */
  get ids(): readonly string[] {
    return [...this.#entries.keys()]
  }

  /** Ids of the runtimes that only some machines have. */
  get installable(): readonly string[] {
    return [...this.#entries.values()].filter(entry => entry.missing !== undefined).map(entry => entry.id)
  }

  /** Ids of the runtimes that only some machines have and this machine can run. */
  get installed(): readonly string[] {
    return this.installable.filter(id => this.find(id)?.missing?.() === null)
  }

  /**
   * Returns the runtimes for the discovery pages.
   *
   * @param elsewhere runtimes that only some machines have and any machine of the deployment can run
   * @param modelsOf the models that can be chosen, by the format that a runtime is bound to
   * @param usual the model of Sessions that name none
   */
  describe(
    elsewhere: ReadonlySet<string>,
    modelsOf: (format: RuntimeEntry['speaks']) => readonly string[],
    usual: string | null,
  ): Runtime[] {
    return [...this.#entries.values()].map(({ id, name, version = null, lacks, missing, modelEnv, speaks }) => {
      const reason = lacks ?? (elsewhere.has(id) ? null : (missing?.() ?? null))
      if (reason !== null) return { id, name, version, available: false, reason }
      const models = id === NATIVE_RUNTIME || modelEnv !== undefined ? modelsOf(speaks) : []
      const defaultModel = usual !== null && models.includes(usual) ? { defaultModel: usual } : {}
      return { id, name, version, available: true, ...(models.length > 0 && { models: [...models] }), ...defaultModel }
    })
  }
}
