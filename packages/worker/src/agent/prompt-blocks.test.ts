import { fileURLToPath } from 'node:url'
import type { TurnRow } from '@berth/core/sessions/turns/turn.ts'
import { expect, it, test } from 'vitest'
import { inputFileName, inputPath, promptBlocks } from './prompt-blocks.ts'

it.each(['plain.txt', 'note #1.md', 'why?.txt', '100%.txt', 'a\\b', 'täglich\n.txt'])('links to the file %j', name => {
  const file = { name, mediaType: 'text/plain', sizeBytes: 1, sha256: '' }
  const turn = { sequence: 3, message: 'read', files: [file] } as unknown as TurnRow
  const [, link] = promptBlocks(turn, null) as [object, { uri: string }]
  expect(fileURLToPath(link.uri)).toBe(inputPath(3, name))
})

test('keeps a name that fits, and shortens a longer one to its beginning, a digest and its extension', () => {
  expect(inputFileName('a.txt')).toBe('a.txt')
  expect(inputFileName('x'.repeat(255))).toBe('x'.repeat(255))
  const [one, other] = ['1', '2'].map(last => inputFileName(`${'😀'.repeat(100)}${last}.txt`))
  expect(one).not.toBe(other)
  for (const name of [one, other, inputFileName(`a.${'é'.repeat(250)}`)]) {
    expect(Buffer.byteLength(name ?? '')).toBeLessThanOrEqual(255)
    expect(name?.isWellFormed()).toBe(true)
  }
  expect(one).toMatch(/^(?:😀)+~[0-9a-f]{12}\.txt$/u)
})
