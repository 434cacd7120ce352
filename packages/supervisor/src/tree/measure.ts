import type { Stats } from 'node:fs'
import { Excluder } from './exclude.ts'
import type { MeasureJob, TreeSize } from './protocol.ts'
import { type Entered, type Visitor, walk } from './walk.ts'

/** Counts what a seal of the current directory would read, without reading it. */
export async function measure({ exclude, files: most }: MeasureJob): Promise<TreeSize> {
  const excluder = new Excluder(exclude)
  let [entries, sourceBytes] = [0, 0]
  const comesTo = (path: string, { size }: Pick<Stats, 'size'>, isDirectory: boolean): boolean => {
    // Whatever is over the bound already need not be walked to its end.
    if (entries > most || excluder.excludes(path, isDirectory)) return false
    entries += 1
    sourceBytes += size
    return true
  }
  const visitor: Visitor<Entered> = {
    directory: (path, _stats) => (comesTo(path, { size: 0 }, true) ? {} : undefined),
    entry: (path, stats) => void comesTo(path, stats.isFile() ? stats : { size: 0 }, false),
    tooLong: () => undefined,
  }
  await walk(visitor, {})
  return { entries, sourceBytes }
}
