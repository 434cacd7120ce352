import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { TurnRow } from '../../sessions/turns/turn.ts'
import { inputPath, promptBlocks } from './prompt-blocks.ts'

it.each(['plain.txt', 'note #1.md', 'why?.txt', '100%.txt', 'a\\b', 'täglich\n.txt'])('links to the file %j', name => {
  const file = { name, mediaType: 'text/plain', sizeBytes: 1, sha256: '' }
  const turn = { sequence: 3, message: 'read', files: [file] } as unknown as TurnRow
  const [, link] = promptBlocks(turn, null) as [object, { uri: string }]
  expect(fileURLToPath(link.uri)).toBe(inputPath(3, name))
})
