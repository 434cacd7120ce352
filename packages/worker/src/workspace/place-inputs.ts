import { buffer } from 'node:stream/consumers'
import type { TurnRow } from '@berth/core/sessions/turns/turn.ts'
import { inputFileName } from '../agent/prompt-blocks.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'

/** Writes a Turn's files to the paths that its message names. A handover repeats this with the same bytes. */
export async function placeInputs(context: ExecutionContext, leaseId: string, turn: TurnRow): Promise<void> {
  if (turn.files.length === 0) return
  const files = await Promise.all(
    turn.files.map(async file => ({
      name: inputFileName(file.name),
      content: await buffer(await context.blobs.get(file.sha256)),
    })),
  )
  await context.driver.writeInputs(leaseId, turn.sequence, files)
}
