import { expect, test } from 'vitest'
import { titleEdit } from './title-edit.ts'

/** Leaves the field with one text after another; returns what was handed on. */
function leaving(began: string, ...texts: readonly string[]) {
  const handed: (string | null)[] = []
  const leave = titleEdit(began, title => handed.push(title))
  for (const text of texts) leave(text)
  return handed
}

test('a title is sent once, although its field is left again as it disappears', () => {
  expect(leaving('Old', ' New ', ' New ')).toEqual(['New'])
})

test('a text that nobody changed is not sent, whatever title the Session has by now', () => {
  expect([leaving('Old', 'Old'), leaving(' Old', 'Old '), leaving('Old', ' ')]).toEqual([[null], [null], [null]])
})

test('what is given up is not sent as the field disappears', () => {
  expect(leaving('Old', '', 'Never')).toEqual([null])
})
