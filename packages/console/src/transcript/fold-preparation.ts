import type { NoticeRow, Row } from '@berth/client/transcript'

const isPrepared = (row: Row | undefined): row is NoticeRow =>
  row?.kind === 'notice' && row.step !== undefined && row.ongoing !== true && row.tone === 'quiet'

/** Returns the rows with the steps before the agent's start in one line, which unfolds. A step that goes on, or failed, stays. */
export function foldPreparation(rows: readonly Row[]): readonly Row[] {
  const folded: Row[] = []
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] as Row
    const end = isPrepared(row) ? rows.findIndex((other, index) => index > at && !isPrepared(other)) : at + 1
    const steps = isPrepared(row) ? rows.slice(at, end === -1 ? rows.length : end).filter(isPrepared) : []
    if (steps.length < 2) {
      folded.push(row)
      continue
    }
    const lines = steps.flatMap(({ text, detail }) => (detail === undefined ? [text] : [text, detail]))
    const { about: _, ...first } = steps[0] as NoticeRow
    folded.push({ ...first, text: 'Sandbox prepared', detail: lines.join('\n') })
    at += steps.length - 1
  }
  return folded
}
