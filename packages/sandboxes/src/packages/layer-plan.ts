import type { PackageSources } from './package-sources.ts'

/** What a layer is made of. */
export interface LayerPlan {
  readonly names: readonly string[]
  readonly sources: PackageSources
  /** Name or path of the bubblewrap program. */
  readonly bwrap: string
  /** The first of the uids that stand for root and the other users of the layer. */
  readonly firstUid: number
}

/** Directories of a layer. `usr` holds only what differs from the host's; the others are whole. */
export const layerNames = { usr: 'usr', etc: 'etc', var: 'var', opt: 'opt' } as const
