import type { Session } from '@berth/client'
import { counted } from '../ui/format.ts'

type Counts = Omit<NonNullable<Session['changes']>, 'revision'>

/** How much has changed: `4 files +66 −0`. */
export function ChangeCounts({ changes: { files, additions, deletions } }: { changes: Counts }) {
  return (
    <span className="shrink-0 whitespace-nowrap tabular-nums">
      {counted(files, 'file')} <span className="text-good">+{additions.toLocaleString('en')}</span>{' '}
      <span className="text-bad">−{deletions.toLocaleString('en')}</span>
    </span>
  )
}
