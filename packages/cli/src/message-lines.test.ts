import { expect, test } from 'vitest'
import { messageLines } from './message-lines.ts'
import type { Paint } from './output.ts'

const plain: Paint = (_, text) => text
const marked: Paint = (style, text) => `<${style}>${text}</>`

test.each([
  ['# A **heading** with `code` ##', '<bold>A heading with code</>'],
  ['#no heading', '#no heading'],
  ['- **The cause**: `a ** b`', '• <bold>The cause</>: <cyan>a ** b</>'],
  ['  * two * stars', '  • two * stars'],
  ['-no item, 2 ** 3 ** 4, `open', '-no item, 2 ** 3 ** 4, `open'],
  ['``a ` b``', '<cyan>a ` b</>'],
  ['', ''],
])('shows the line %j', (line, shown) => {
  expect(messageLines(`before\n${line}`, marked)).toEqual(['before', shown])
  expect(messageLines(`before\n${line}`, plain)).toEqual(['before', line])
})

test('nothing means anything between fences, and a longer one ends it', () => {
  const text = '```ts\n# **code**\n~~~\n````\n# prose'
  expect(messageLines(text, marked)).toEqual([
    '<dim>```ts</>',
    '<cyan># **code**</>',
    '<cyan>~~~</>',
    '<dim>````</>',
    '<bold>prose</>',
  ])
})

test('an empty message has no line', () => {
  expect(messageLines('', marked)).toEqual([])
})
