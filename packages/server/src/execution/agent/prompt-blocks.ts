import { pathToFileURL } from 'node:url'
import type { TurnRow } from '../../sessions/turns/turn.ts'
import { inputFileName } from './input-file-name.ts'

/** Where a Turn's files stand inside the sandbox. */
export const inputPath = (turnSequence: number, name: string): string =>
  `/workspace/.berth/inputs/${turnSequence}/${inputFileName(name)}`

/** A Turn as ACP content: what came before where the agent cannot know it, its message verbatim, then a link to each file. */
export function promptBlocks(turn: TurnRow, recap: string | null): object[] {
  return [
    ...(recap === null ? [] : [{ type: 'text', text: recap }]),
    { type: 'text', text: turn.message },
    ...turn.files.map(file => ({
      type: 'resource_link',
      name: file.name,
      uri: pathToFileURL(inputPath(turn.sequence, file.name)).href,
      mimeType: file.mediaType,
      size: file.sizeBytes,
    })),
  ]
}
