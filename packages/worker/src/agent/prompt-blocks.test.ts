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

test('tells an agent of the commits that came into its files and of what is in conflict, but not a script', () => {
  const turn = { sequence: 3, message: 'bring it on', files: [], output_schema: null } as unknown as TurnRow
  const oid = 'a'.repeat(40)
  const brought = {
    ...{ baseOid: oid, head: null, turnId: '', merged: [{ kind: 'base' as const, oid }], submodules: ['vendor/lib'] },
    ...{ conflicts: [{ path: 'src/a.ts', kind: 'contents' }], conflictCount: 3 },
  }
  const [note, message, ...more] = promptBlocks(turn, null, { brought }) as { text: string }[]
  expect(note?.text).toContain(`${oid}, the present commit of the branch that your work goes to`)
  expect(note?.text).toContain('- src/a.ts (contents)\n- and 2 more')
  expect(note?.text).toContain('vendor/lib')
  expect([message?.text, more]).toEqual(['bring it on', []])
  expect(promptBlocks(turn, null, { brought, isScript: true })).toHaveLength(1)
  expect(promptBlocks(turn, null, { brought: { ...brought, merged: [] } })).toHaveLength(1)
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
