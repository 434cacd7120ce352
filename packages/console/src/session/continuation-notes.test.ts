import { continuationReasons } from '@berth/contract'
import { expect, test } from 'vitest'
import { continuationNotes, modelNote, noteOf } from './continuation-notes.ts'

test('every reason of the contract has its words', () => {
  expect(Object.keys(continuationNotes).sort()).toEqual([...continuationReasons].sort())
})

test('the note about models gives way to what a model cannot mend', () => {
  expect(noteOf('session_archived', true)).toBe(continuationNotes.session_archived)
  expect([noteOf('no_prior_work', true), noteOf(undefined, true)]).toEqual([modelNote, modelNote])
  expect([noteOf('no_prior_work', false), noteOf(undefined, false)]).toEqual([null, null])
})
