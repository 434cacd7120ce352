import type { FollowUp, PullRequest } from '@berth/contract'
import { followUpCauses, followUpReasons, followUpStates } from '@berth/contract'
import { describe, expect, it } from 'vitest'
import { causeText, followUpReason, followUpText, groupByTurn, stateText } from './pull-labels.ts'

const followUp: FollowUp = {
  sessionId: 's',
  publicationId: 'p',
  pullRequest: { number: 7, url: 'https://example.com/7' },
  state: 'watching',
  attempts: 1,
  maxAttempts: 5,
  spentUsd: 0,
  budgetUsd: null,
  until: '2026-01-08T00:00:00Z',
  merge: 'never',
  on: ['checks'],
  people: [],
  headSha: null,
  history: [],
  startedAt: '2026-01-01T00:00:00Z',
  updatedAt: '2026-01-01T00:00:00Z',
}

describe('a follow-up', () => {
  it('has a sentence for each state and each reason', () => {
    for (const state of followUpStates) expect(followUpText({ ...followUp, state })).toMatch(/^[A-Z][^_]*\.$/)
    for (const reason of followUpReasons) {
      expect(followUpReason(reason)).not.toContain('_')
      expect(followUpText({ ...followUp, state: 'needs_person', reason })).toBe(
        `It needs a person: ${followUpReason(reason)}.`,
      )
    }
    for (const cause of followUpCauses) expect(causeText(cause)).toMatch(/^[A-Z][^_]+$/)
  })

  it('says what an unknown word says, too: the sets are open', () => {
    expect([followUpReason('new_reason'), causeText('new_cause'), stateText('new_state')]).toEqual([
      'new reason',
      'new cause',
      'new state',
    ])
  })
})

describe('pull requests', () => {
  it('stand by whose turn it is, those that wait for a person first', () => {
    const pull = (number: number, turn: string) => ({ number, turn }) as PullRequest
    const groups = groupByTurn([
      pull(1, 'nobody'),
      pull(2, 'agent'),
      pull(3, 'new'),
      pull(4, 'person'),
      pull(5, 'agent'),
    ])
    expect(groups.map(({ turn, pulls }) => [turn, ...pulls.map(({ number }) => number)])).toEqual([
      ['person', 4],
      ['agent', 2, 5],
      ['nobody', 1],
      ['new', 3],
    ])
  })
})
