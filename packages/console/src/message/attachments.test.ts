import { limits } from '@berth/contract'
import { expect, test } from 'vitest'
import { attach, encoded } from './attachments.ts'

const file = (name: string, size = 1) => Object.assign(new Blob(['x'.repeat(size)]), { name })

test('files with one name get several, each one path segment', () => {
  const { attachments } = attach([], [file('a.png'), file('a.png'), file('x/a.png'), file('..'), file('')], '')
  expect(attachments.map(({ name }) => name)).toEqual(['a.png', 'a-2.png', 'x_a.png', '..-2', 'file'])
})

test('the end of a long name stays, without half of a character', () => {
  const { attachments } = attach([], [file(`${'🔔'.repeat(200)}.png`)], '')
  expect(attachments.map(({ name }) => name)).toEqual([`${'🔔'.repeat(196)}.png`])
  expect(attach([], [file(`🔔${'x'.repeat(199)}`)], '').attachments[0]?.name).toBe(`🔔${'x'.repeat(199)}`)
})

test('what a message cannot take is refused by name, and the rest is kept', () => {
  const many = attach(
    [],
    Array.from({ length: 21 }, (_, at) => file(`${at}`)),
    '',
  )
  expect(many.attachments).toHaveLength(20)
  expect(many.refused).toMatch(/20 files/)
  const large = attach([], [file('small'), file('large.bin', 800_000)], '')
  expect(large.attachments.map(({ name }) => name)).toEqual(['small'])
  expect(large.refused).toMatch(/large\.bin does not fit/)
})

test('what fits stays below the limit of a request', async () => {
  const message = 'm'.repeat(1_000)
  const { attachments } = attach(
    [],
    Array.from({ length: 20 }, (_, at) => file(`${at}`, 40_000)),
    message,
  )
  const files = await Promise.all(attachments.map(encoded))
  expect(JSON.stringify({ message, files }).length).toBeLessThan(limits.bodyBytes)
  expect(files.length).toBeGreaterThan(15)
  expect(atob(files[0]?.content ?? '')).toHaveLength(40_000)
})
