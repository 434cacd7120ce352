import type { Row, Step } from './rows.ts'
import type { Transcript } from './transcript.ts'

/** A row that is new or differs, with those of its steps that are new or differ. */
export interface RowChange {
  readonly row: Row
  readonly steps: readonly Step[]
}

/** Returns how a transcript differs from an earlier state of it, in the order of its rows. */
export function changesOf(before: Transcript, after: Transcript): readonly RowChange[] {
  const earlier = new Map(before.rows.map(row => [row.key, row]))
  return after.rows.flatMap((row): RowChange[] => {
    const old = earlier.get(row.key)
    if (old === row) return []
    if (row.kind !== 'steps') return [{ row, steps: [] }]
    const known = old?.kind === 'steps' ? old : undefined
    const had = new Set(known?.steps)
    const steps = row.steps.filter(step => !had.has(step))
    // A bounded transcript drops its oldest steps, which is no change to show.
    return steps.length === 0 && known?.lane === row.lane ? [] : [{ row, steps }]
  })
}
