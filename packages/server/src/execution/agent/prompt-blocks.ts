import { pathToFileURL } from 'node:url'
import type { TurnRow } from '../../sessions/turns/turn.ts'
import { inputFileName } from './input-file-name.ts'

/** Returns the path of a Turn's file inside the sandbox. */
export const inputPath = (turnSequence: number, name: string): string =>
  `/workspace/.berth/inputs/${turnSequence}/${inputFileName(name)}`

/** Returns a Turn as ACP content: the recap if the agent needs one, the message verbatim, then a link to each file. */
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
