import { expect, test } from 'vitest'
import { BriefAnswers } from './brief-answers.ts'

function answers() {
  const clock = { ms: 0 }
  return { clock, brief: new BriefAnswers(() => clock.ms) }
}

test('remembers for a second that there is nobody to ask about a host, and not about another', () => {
  const { brief, clock } = answers()
  brief.keep('a.example.org:80', { kind: 'nobody' })
  clock.ms = 999
  expect([brief.find('a.example.org:80'), brief.find('b.example.org:80')]).toEqual([{ kind: 'nobody' }, undefined])
  clock.ms = 1000
  expect(brief.find('a.example.org:80')).toBeUndefined()
})

test('remembers for a second that people are asked about too many hosts, whatever the host', () => {
  const { brief, clock } = answers()
  brief.keep('a.example.org:80', { kind: 'crowded' })
  expect(brief.find('b.example.org:80')).toEqual({ kind: 'crowded' })
  clock.ms = 1000
  expect(brief.find('b.example.org:80')).toBeUndefined()
})

test('remembers no decision of people, and nothing once it is cleared', () => {
  const { brief } = answers()
  for (const kind of ['allowed', 'refused', 'ending', 'secret']) brief.keep('a.example.org:80', { kind })
  expect(brief.find('a.example.org:80')).toBeUndefined()
  brief.keep('a.example.org:80', { kind: 'nobody' })
  brief.keep('a.example.org:80', { kind: 'crowded' })
  brief.clear()
  expect(brief.find('a.example.org:80')).toBeUndefined()
})
