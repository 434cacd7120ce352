import { pathToFileURL } from 'node:url'
import type { TurnRow } from '../../sessions/turns/turn.ts'
import { inputFileName } from './input-file-name.ts'
import { outputOrder } from './output-words.ts'

/** Returns the path of a Turn's file inside the sandbox. */
export const inputPath = (turnSequence: number, name: string): string =>
  `/workspace/.berth/inputs/${turnSequence}/${inputFileName(name)}`

/**
 * Returns a Turn as ACP content: the recap if the agent needs one, the message verbatim, a link to each file, then how to
 * answer if the Turn asks for an output.
 *
 * @param isScript the agent runs the message, so it is told nothing else
 */
export function promptBlocks(turn: TurnRow, recap: string | null, isScript = false): object[] {
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
    ...(turn.output_schema === null || isScript ? [] : [{ type: 'text', text: outputOrder(turn.output_schema) }]),
  ]
}
