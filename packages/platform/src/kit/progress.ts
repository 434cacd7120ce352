import { AsyncLocalStorage } from 'node:async_hooks'

/** How far a step has come. */
export interface Progress {
  readonly unit: 'bytes' | 'objects' | 'deltas' | 'files'
  readonly done: number
  /** Absent if nobody knows it yet. */
  readonly total?: number
  /** Bytes that have come, if another unit is counted. */
  readonly bytes?: number
}

type Report = (progress: Progress) => void

const current = new AsyncLocalStorage<Report>()

/** Calls `work`; `report` gets the progress of whatever it downloads or writes. */
export const withProgress = <T>(report: Report, work: () => T): T => current.run(report, work)

/** Returns the function that takes the progress of the present work. Nobody may be interested. */
export const progressReport = (): Report => current.getStore() ?? (() => undefined)

/** Yields the pieces of a content, and reports their bytes. */
export function counted(content: AsyncIterable<Uint8Array>, total: number | undefined): AsyncIterable<Uint8Array> {
  // A generator runs in the context of its reader.
  const report = progressReport()
  return (async function* () {
    let done = 0
    for await (const piece of content) {
      done += piece.length
      report({ unit: 'bytes', done, ...(total !== undefined && { total }) })
      yield piece
    }
  })()
}
