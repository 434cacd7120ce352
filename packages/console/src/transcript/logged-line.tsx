import type { ArtifactRow, InteractionRow, NoticeRow } from '@berth/client/transcript'
import { lazy } from 'react'
import { BlockedLine } from './blocked-line.tsx'
import { InteractionLine } from './interaction-line.tsx'
import { OngoingLine } from './ongoing-line.tsx'

const Artifact = lazy(async () => ({ default: (await import('./artifact.tsx')).Artifact }))

/** A row that few logs have: a question or a file of the agent, a step that goes on, or a host that its sandbox was refused. */
export function LoggedLine({ row, sessionId }: { row: ArtifactRow | InteractionRow | NoticeRow; sessionId: string }) {
  if (row.kind === 'interaction') return <InteractionLine row={row} />
  if (row.kind === 'artifact') return <Artifact row={row} sessionId={sessionId} />
  const { blocked, text, detail } = row
  if (row.ongoing) return <OngoingLine row={row} sessionId={sessionId} />
  return blocked && <BlockedLine blocked={blocked} text={text} detail={detail} sessionId={sessionId} />
}
