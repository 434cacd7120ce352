import type { ModelFacts, RuntimeEntry } from '../catalog.ts'

/**
 * An agent of somebody else that Berth knows how to install and to wire. All that is particular to it is in this entry:
 * what it is, where its package lies, and how it is told of the gateway and of a model.
 */
export interface ForeignRuntime {
  readonly id: string
  readonly name: string
  /** Of the package that is installed. */
  readonly version: string
  /** How it comes to this machine: a package that `runtimes/<id>` pins, or a program that an operator puts there. */
  readonly install: { readonly kind: 'npm' } | { readonly kind: 'program'; readonly path: string }
  /** @param directory where its package is installed; for a program, where that is */
  command(directory: string): readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Variables that tell it of the gateway and its model. */
  modelEnv(model: ModelFacts): Readonly<Record<string, string>>
  /** The format that it speaks, where the gateway serves only some models in it. */
  readonly speaks?: NonNullable<RuntimeEntry['speaks']>
  /**
   * With a key that an operator gives it, it asks its provider and not the gateway, for a model of its own choice: the
   * variable that holds the key, and those that it then has in place of the gateway's.
   */
  readonly ownProvider?: { readonly key: string; readonly env: Readonly<Record<string, string>> }
  /** Paths below its home that hold its conversations. */
  readonly state: readonly string[]
}

/** Where a sandbox's forwarder leads to the gateway; whoever asks there needs no credential of its own. */
export const gatewayOriginInside = 'http://127.0.0.1:3128'

/** The same for OpenAI's formats, whose clients are told of the `/v1`. */
export const gatewayInside = `${gatewayOriginInside}/v1`

/** For agents that insist on a key. The proxy puts the Run's credential in its place. */
export const placeholderKey = 'berth'
