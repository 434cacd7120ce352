import type { ModelFacts } from '../catalog.ts'

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
  /** Variables that tell it of the gateway's model. Absent: it does not speak the gateway's formats. */
  readonly modelEnv?: (model: ModelFacts) => Readonly<Record<string, string>>
  /** Variables that it cannot do without and that only an operator has. */
  readonly needs: readonly string[]
  /** Paths below its home that hold its conversations. */
  readonly state: readonly string[]
}

/** Where a sandbox's forwarder leads to the gateway; whoever asks there needs no credential of its own. */
export const gatewayInside = 'http://127.0.0.1:3128/v1'

/** For agents that insist on a key. The proxy puts the Run's credential in its place. */
export const placeholderKey = 'berth'
