import { BerthError } from '@berth/client'
import { expect, test } from 'vitest'
import { publish } from '../src/commands/publish.ts'
import { retryFollowUp, showFollowUp, stopFollowUp } from '../src/commands/pull-requests.ts'
import type { CommandIo } from '../src/io.ts'

const followUp = {
  sessionId: 's',
  publicationId: 'p2',
  pullRequest: { number: 7, url: 'https://git.example/7' },
  state: 'needs_person',
  reason: 'same_failure',
  attempts: 2,
  maxAttempts: 4,
  spentUsd: 0.5,
  budgetUsd: 3,
  until: '2026-12-01T00:00:00Z',
  merge: 'when_ready',
  on: ['checks'],
  people: [],
  headSha: null,
  history: [{ turnId: 't', cause: 'checks', at: '2026-11-29T00:00:00Z' }],
  startedAt: '2026-11-28T00:00:00Z',
  updatedAt: '2026-11-29T00:00:00Z',
}
const pullRequest = { number: 7, url: 'https://git.example/7' }
const publications = [{ id: 'p3' }, { id: 'p2', result: { pullRequest } }, { id: 'p1', result: { pullRequest } }]

/** A service that has a follow-up or none, and what was called there and printed. */
function scripted(known: object | null = followUp) {
  const [calls, lines]: [[string, object][], string[]] = [[], []]
  const stdout = {
    isTerminal: false,
    paint: (_: string, text: string) => text,
    line: async (x: string) => lines.push(x),
  }
  const client = {
    async *items() {
      yield* publications
    },
    async call(operation: string, input: object) {
      calls.push([operation, input])
      if (operation === 'getFollowUp' && known === null) {
        throw new BerthError({ status: 404, code: 'cloud_follow_up_not_found' })
      }
      if (operation === 'reviewRepository') return { review: { revision: 'r', files: [], signals: [] } }
      if (operation === 'getPublication') {
        const result = { delivery: 'pull_request', branch: 'b', commitSha: 'c'.repeat(40), pullRequest }
        return { publication: { id: 'p', status: 'succeeded', completedAt: 'now', result } }
      }
      return { followUp }
    },
  }
  return { io: { client, stdout, stderr: stdout } as unknown as CommandIo, calls, lines }
}

test("a follow-up is the one of the session's newest pull request, and its turns are shown one a line", async () => {
  const { io, calls, lines } = scripted()
  await showFollowUp('s', undefined, {}, io)
  await stopFollowUp('s', 'p1', { json: true }, io)
  expect(calls).toEqual([
    ['getFollowUp', { sessionId: 's', publicationId: 'p2' }],
    ['stopFollowUp', { sessionId: 's', publicationId: 'p1' }],
  ])
  expect(lines[0]).toMatch(/^ {2}pullRequest +#7 https:\/\/git\.example\/7$/)
  expect(lines.at(-2)).toMatch(/^ {2}history +2026-11-29T00:00:00Z {2}checks {2}turn t$/)
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual(followUp)
})

test('a retry keeps the bounds that nobody changes, and begins with those of the service where there are none', async () => {
  const kept = { maxAttempts: 4, budgetUsd: 3, merge: 'when_ready', on: ['checks'] }
  for (const [known, options, body] of [
    [followUp, { attempts: 9 }, { ...kept, maxAttempts: 9 }],
    [null, { days: 2, mergeWhenReady: true }, { days: 2, merge: 'when_ready' }],
  ] as const) {
    const { io, calls } = scripted(known)
    await retryFollowUp('s', undefined, options, io)
    expect(calls.at(-1)).toEqual(['putFollowUp', { sessionId: 's', publicationId: 'p2', body }])
  }
})

test('publishing with --follow asks for a follow-up within the bounds, and bounds alone are refused', async () => {
  const order = { title: 't', revision: 'r' }
  const { io, calls } = scripted()
  expect(await publish('s', { ...order, follow: true, attempts: 3, budget: 5 }, io)).toBe(0)
  expect(calls.find(([operation]) => operation === 'createPublication')?.[1]).toMatchObject({
    body: { followUp: { maxAttempts: 3, budgetUsd: 5 } },
  })
  await expect(publish('s', { ...order, days: 3, mergeWhenReady: true }, io)).rejects.toThrow(
    '--days, --merge-when-ready needs --follow',
  )
  await expect(publish('s', { ...order, follow: true, direct: true }, io)).rejects.toThrow(
    '--direct opens no pull request to follow',
  )
})
