import { describe, expect, it } from 'vitest'
import { readFollowUps } from './follow-ups.ts'

const usual = { label: null, assignee: null, baseCommits: null }

describe('what an organization types for pull requests that are followed', () => {
  it('names only what differs, and takes nothing for the usual', () => {
    expect(readFollowUps(usual, {}).changed).toEqual({})
    expect(readFollowUps(usual, { label: ' agent ', baseCommits: '20' }).changed).toEqual({
      label: 'agent',
      baseCommits: 20,
    })
    expect(readFollowUps({ ...usual, label: 'agent' }, { label: '  ' }).changed).toEqual({ label: null })
  })

  it('refuses what the service refuses', () => {
    const faulty = { label: 'x'.repeat(101), assignee: 'two words', baseCommits: '0' }
    expect(Object.keys(readFollowUps(usual, faulty).faults)).toEqual(['label', 'assignee', 'baseCommits'])
    expect(readFollowUps(usual, { baseCommits: '10001' }).faults).toHaveProperty('baseCommits')
    expect(readFollowUps(usual, { baseCommits: '10000', assignee: 'berth[bot]' }).faults).toEqual({})
  })
})
