import { continuationReasons } from '@berth/contract'
import { expect, test } from 'vitest'
import { continuationNotes } from './continuation-notes.ts'

test('every reason of the contract has its words', () => {
  expect(Object.keys(continuationNotes).sort()).toEqual([...continuationReasons].sort())
})
