import { describe, expect, it } from 'vitest'
import { boundsFaults, defaultBounds, requestOf } from './bounds.ts'

describe('the bounds of a follow-up', () => {
  it('are sent as numbers, without a budget if none is named', () => {
    expect(requestOf(defaultBounds)).toEqual({
      maxAttempts: 5,
      days: 7,
      merge: 'never',
      on: ['checks', 'reviews', 'conflicts', 'base'],
    })
    expect(requestOf({ ...defaultBounds, budget: '2.50', merges: true })).toMatchObject({
      budgetUsd: 2.5,
      merge: 'when_ready',
    })
  })

  it.each([
    [{ attempts: '0' }, ['attempts']],
    [{ attempts: '21' }, ['attempts']],
    [{ attempts: '1.5' }, ['attempts']],
    [{ attempts: '' }, ['attempts']],
    [{ days: '31' }, ['days']],
    [{ budget: '0' }, ['budget']],
    [{ budget: 'much' }, ['budget']],
    [{ on: [] }, ['on']],
    [{ attempts: '20', days: '30', budget: '0.01' }, []],
  ])('%o are judged before they are sent', (part, faulty) => {
    expect(Object.keys(boundsFaults({ ...defaultBounds, ...part }))).toEqual(faulty)
  })
})
