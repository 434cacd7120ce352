import type { SandboxDriver } from './driver.ts'
import type { BaselineEnd, ProgramRun, TreeAccess, TreeName } from './lease-program.ts'

/** A tree with one series of baselines, wherever it lies. */
export interface Tree {
  /**
   * Starts the tree program.
   * @param baseline makes it write a baseline, and read that of the given manifest
   * @throws TreeUnfinishedError if it would read a tree that is not whole, SandboxGoneError
   */
  run(access: TreeAccess, baseline?: { readonly previous?: string | undefined }): Promise<ProgramRun>
  /** Settles the baseline that a program has written. */
  settle(id: string, end: BaselineEnd): Promise<void>
}

/** The part of a driver that works on trees. */
export type TreeDriver = Pick<SandboxDriver, 'run' | 'settleBaseline'>

/**
 * Returns a tree of a sandbox.
 * @param series of its baselines, if it is sealed for another purpose than checkpoints
 */
export function treeOf(driver: TreeDriver, leaseId: string, tree: TreeName, series: string = tree): Tree {
  return {
    run: (access, baseline) => {
      const { previous } = baseline ?? {}
      const use = { series, ...(previous !== undefined && { previous }) }
      return driver.run(leaseId, { kind: 'tree', tree, access, ...(baseline !== undefined && { baseline: use }) })
    },
    settle: (id, end) => driver.settleBaseline(leaseId, series, id, end),
  }
}
