import { interactionLimits as bounds } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import { readPlan } from './acp-questions.ts'

const textOf = (text: string) => ({ content: [{ type: 'content', content: { type: 'text', text } }] })
const knownCall = { text: undefined, input: undefined, truncated: false }

describe('a plan', () => {
  test.each([
    ['40,000 characters of two bytes', 'ü'.repeat(40_000)],
    ['the most characters that may be shown, of four bytes each', '😀'.repeat(bounds.planCharacters)],
    ['no text', ''],
  ])('is shown whole if it has %s', (_, plan) => {
    expect(readPlan(textOf(plan), null)).toEqual({ plan })
    expect(readPlan({ rawInput: { plan } }, null)).toEqual({ plan })
  })

  test('is cut at the bound if it is longer, and says so at its end', () => {
    const { plan, planTruncated } = readPlan(textOf('😀'.repeat(bounds.planCharacters + 1)), null)
    expect([[...plan].length, planTruncated]).toEqual([bounds.planCharacters, true])
    expect(plan).toMatch(/^😀{65000}.*longer than can be shown/su)
  })

  test('says so if only the announced call holds it and was cut', () => {
    expect(readPlan({}, { ...knownCall, text: 'All of it.' })).toEqual({ plan: 'All of it.' })
    expect(readPlan({}, { ...knownCall, input: { plan: 'All of it.' } })).toEqual({ plan: 'All of it.' })
    expect(readPlan({}, { ...knownCall, text: 'The beginning', truncated: true })).toEqual({
      plan: expect.stringMatching(/^The beginning\n\n\[The plan is longer/),
      planTruncated: true,
    })
    const whole = { plan: 'All of it.' }
    expect(readPlan(textOf('All of it.'), { ...knownCall, text: 'All', truncated: true })).toEqual(whole)
  })
})
