import type { ModelFacts, RuntimeEntry } from '../catalog.ts'

/**
 * A foreign agent that Berth can install and configure. Its entry holds everything specific to it: its identity, its
 * package, and the variables for the gateway and a model.
 */
export interface ForeignRuntime {
  readonly id: string
  readonly name: string
  /** Version of the installed package. */
  readonly version: string
  /** How it gets to this machine: as a package that `runtimes/<id>` pins, or as a program that an operator installs. */
  readonly install: { readonly kind: 'npm' } | { readonly kind: 'program'; readonly path: string }
  /** @param directory of its installed package; for a program, its path */
  command(directory: string): readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Variables with the gateway's address and its model. */
  modelEnv(model: ModelFacts): Readonly<Record<string, string>>
  /** Its format, if only models of providers that speak it serve. */
  readonly speaks?: NonNullable<RuntimeEntry['speaks']>
  /**
   * The key's variable, and the variables that replace the gateway's. If an operator sets that key, the agent asks its
   * own provider instead of the gateway, for a model of its own choice.
   */
  readonly ownProvider?: { readonly key: string; readonly env: Readonly<Record<string, string>> }
  /** Paths below its home that hold its conversations. */
  readonly state: readonly string[]
  /** Directories below its home from which it reads skills, if not only `.agents/skills`. */
  readonly skills?: readonly string[]
  /** Variables of a process that is given MCP servers, besides `env`. */
  readonly serversEnv?: Readonly<Record<string, string>>
  /** True if it goes on repeating a conversation after it has answered that it is loaded. */
  readonly repeatsLate?: boolean
}

/** The gateway's origin in a sandbox, through its forwarder; clients need no credential there. */
export const gatewayOriginInside = 'http://127.0.0.1:3128'

/** The same for OpenAI's formats, whose clients expect the `/v1`. */
export const gatewayInside = `${gatewayOriginInside}/v1`

/** For agents that insist on a key. The proxy replaces it with the Run's credential. */
export const placeholderKey = 'berth'
