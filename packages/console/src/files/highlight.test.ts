import { expect, test } from 'vitest'
import { highlight } from './highlight.ts'

test('every character of a file is shown once, in its line', async () => {
  const lines = ['/* two', '   lines */ const a = `x', 'y', '`', '', 'export {}', '']
  const pieces = await highlight('a.ts', lines)
  expect(pieces?.map(line => line.map(({ text }) => text).join(''))).toEqual(lines)
  expect(pieces?.[0]).toEqual([{ text: '/* two', className: 'tok-comment' }])
  expect(pieces?.[1]?.some(({ text, className }) => text === 'const' && className === 'tok-keyword')).toBe(true)
})

test('a file of an unknown language is left as it is', async () => {
  expect(await highlight('notes', ['if (x)'])).toBeNull()
})

test('a file of twenty thousand lines is coloured soon enough', async () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => `const value${at} = { text: 'word', number: ${at} } // ${at}`)
  const pieces = await highlight('a.ts', lines)
  expect(pieces?.at(-1)?.at(-1)).toEqual({ text: '// 19999', className: 'tok-comment' })
})
