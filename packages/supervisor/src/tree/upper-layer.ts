import { type Baseline, readWhole } from './baseline.ts'
import { upperLayerVariable } from './protocol.ts'
import { endOf, kindAt, kinds, pathAt } from './record.ts'

/** The last record. No path begins like it, so a list that was cut off is known. */
const upperLayerEnd = '/end'

/**
 * The paths that the upper layer of an overlay holds: everything that may differ from its lower layers, which never
 * change. A path that is not among them, and that no renamed directory lies above, shows what the lower layers have
 * there, and always has since the overlay was mounted: whatever covers a lower path leaves a trace in the upper layer for
 * good. So an earlier baseline of this tree still holds for it.
 *
 * The list is older than the walk that uses it.
 */
export class UpperLayer {
  readonly #prefix: string
  readonly #paths: ReadonlySet<string>

  private constructor(at: string, paths: readonly string[]) {
    this.#prefix = at === '' ? '' : `${at}/`
    // A directory that shows content of lower layers has a slash at its end.
    this.#paths = new Set(paths.map(path => (path.endsWith('/') ? path.slice(0, -1) : path)))
  }

  /** Returns undefined if there is no overlay, or if the baseline alone does not tell what the rest of the tree is. */
  static read(baseline: Baseline): UpperLayer | undefined {
    const [, fd, at] = /^(\d+):(.*)$/.exec(process.env[upperLayerVariable] ?? '') ?? []
    if (fd === undefined || at === undefined) return undefined
    const records = readWhole(Number(fd)).toString('latin1').split('\0')
    // The last record ends with a zero as well.
    if (records.pop() !== '' || records.pop() !== upperLayerEnd) return undefined
    const layer = new UpperLayer(at, records)
    return layer.#hasLinks(baseline) ? undefined : layer
  }

  /** Whether everything at and below a path is as the lower layers have it, if its directory is where it was. */
  isLower(path: string): boolean {
    return path.startsWith(this.#prefix) && !this.#paths.has(path.slice(this.#prefix.length))
  }

  /** A file of the lower layers may have been linked to one that is a file of its own now. */
  #hasLinks({ index }: Baseline): boolean {
    for (let at = 0; at < index.length; at = endOf(index, at))
      if (kindAt(index, at) === kinds.hardLink && this.isLower(pathAt(index, at) ?? '')) return true
    return false
  }
}
