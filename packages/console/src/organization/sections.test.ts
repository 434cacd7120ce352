import { expect, test } from 'vitest'
import { sectionGroupsOf } from './sections.ts'

test('a service without triggers has all sections but theirs', () => {
  const [whole = [], less = []] = [true, false].map(triggers =>
    sectionGroupsOf({ transcription: false, github: false, billing: false, triggers }).flatMap(group => group.sections),
  )
  expect(whole.filter(section => !less.includes(section)).map(({ id }) => id)).toEqual(['triggers'])
})

test.each([
  ['api key', 'Integrations'],
  ['token', 'Integrations'],
  ['invite', 'Members'],
  ['budget', 'Limits'],
  ['schedule', 'Triggers'],
])('whoever looks for "%s" finds %s', (query, label) => {
  const features = { transcription: false, github: false, billing: false, triggers: true }
  const sections = sectionGroupsOf(features).flatMap(group => group.sections)
  const found = sections.filter(({ also }) => query.split(' ').every(word => also.includes(word)))
  expect(found.map(section => section.label)).toContain(label)
})
