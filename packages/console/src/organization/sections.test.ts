import { expect, test } from 'vitest'
import { sectionGroupsOf } from './sections.ts'

test('a service without triggers has all sections but theirs', () => {
  const [whole = [], less = []] = [true, false].map(triggers =>
    sectionGroupsOf({ transcription: false, github: false, billing: false, triggers }).flatMap(group => group.sections),
  )
  expect(whole.filter(section => !less.includes(section)).map(({ id }) => id)).toEqual(['triggers'])
})
