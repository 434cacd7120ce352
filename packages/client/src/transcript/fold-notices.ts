import { blockedNotice } from './notices.ts'
import type { NoticeRow, Row } from './rows.ts'

/** Shows a pause and a return of the sandbox in one line, if only messages and steps of the service lie between. */
export function foldSandbox(rows: Row[], row: NoticeRow): boolean {
  if (row.about !== 'sandbox') return false
  for (let at = rows.length - 1; at >= 0; at--) {
    const before = rows[at]
    if (before?.kind !== 'prompt' && before?.kind !== 'notice') return false
    if (before.kind !== 'notice' || before.about !== 'sandbox') continue
    const [paused, resumed] = ['Sandbox paused', 'Sandbox paused and resumed']
    const text = row.text !== paused && before.text.startsWith(paused) ? resumed : row.text
    const details = [before.detail, row.detail].filter(detail => detail !== undefined)
    rows[at] = { ...before, text, ...(details.length > 0 && { detail: details.join('\n') }) }
    return true
  }
  return false
}

/** Shows the refusals of one host in one line of their Run, where they began: a program that tries again is no news. */
export function foldBlocked(rows: Row[], { blocked, runId }: NoticeRow): boolean {
  if (blocked === undefined) return false
  const isSame = (row: Row) => row.kind === 'notice' && row.runId === runId && row.blocked?.host === blocked.host
  const at = rows.findLastIndex(isSame)
  const before = rows[at]
  if (before?.kind !== 'notice' || before.blocked === undefined) return false
  const count = before.blocked.count + blocked.count
  rows[at] = { ...before, ...blockedNotice({ ...blocked, count }) }
  return true
}

/**
 * Closes steps before the agent whose end no Event reports: their worker stopped.
 * @param text of the steps that are over; all if undefined
 */
export function closeNotices(rows: Row[], runId: string | null, text?: string): void {
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows[at]
    if (row?.runId !== null && row?.runId !== runId && row?.kind !== 'prompt') return
    if (row.kind !== 'notice' || row.ongoing !== true || (text !== undefined && row.text !== text)) continue
    const { ongoing: _, ...rest } = row
    rows[at] = { ...rest, text: `${row.text} (interrupted)` }
  }
}
