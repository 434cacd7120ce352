import { reasonLabel } from '@berth/client'
import type { EndRow } from '@berth/client/transcript'

const verbs: Readonly<Record<EndRow['outcome'], string>> = {
  completed: 'Finished',
  failed: 'Failed',
  cancelled: 'Stopped',
  crashed: 'Failed',
}

/** Says in one line how a Run ended. */
export function outcomeText(row: Pick<EndRow, 'outcome' | 'errorCode' | 'stopReason' | 'turns'>): string {
  const why = reasonLabel(row)
  if (why === '') return verbs[row.outcome]
  return `${row.outcome === 'completed' ? verbs.cancelled : verbs[row.outcome]}: ${why}`
}
