import { expect, test } from 'vitest'
import { commandsFor } from './commands.ts'

test('commands are offered while they are typed, to the engine that reads them', () => {
  const lines = (text: string, runtime: string | undefined) => commandsFor(text, runtime).map(({ line }) => line)
  expect(lines('/', undefined)).toEqual(['/plan', '/compact', '/clear'])
  expect(lines('/c', 'native')).toEqual(['/compact', '/clear'])
  expect(lines('/plan', 'native')).toEqual([])
  expect(lines('/plan\nfirst', 'native')).toEqual([])
  expect(lines('and /c', 'native')).toEqual([])
  expect(lines('/c', 'claude-code')).toEqual([])
})
