import type { FollowUpReason, FollowUpRequest } from '@berth/contract'
import { createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { CrashingProcess, strikable } from '@berth/testing/following/crashing-process.ts'
import { oidOf, PlayedPulls } from '@berth/testing/following/played-pulls.ts'
import {
  type PlayedEnd,
  type PlayedSession,
  playPublications,
  playRuns,
  playSession,
} from '@berth/testing/following/played-session.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { beginFollowUp } from '../../src/sessions/follow-ups/begin-follow-up.ts'
import type { FollowUpRow } from '../../src/sessions/follow-ups/follow-up.ts'

/**
 * Fifty pull requests under random events, with kills. Real: the rows, the claims, the decisions, the Turns that are
 * admitted, the Merges, the log, and the database. Played: the host, in memory; the agent, whose Runs end at once; and the
 * push, which compares and swaps the played head. A kill lets nothing of a process through from one step on, as if it had
 * died there; a database that is away refuses one step, or answers a step that it has carried out with an error.
 */

const PULLS = 50
const KILLS = 30
const POLL_MS = 121_000

let db: TestDatabase
let tenant: Tenant
beforeAll(async () => {
  db = await createTestDatabase()
  tenant = await createTenant(db.database)
})
afterAll(() => db[Symbol.asyncDispose]())

/** Random numbers that are the same in each run of a seed. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** How a pull request has to end, by its plan. */
const plans: readonly { readonly ends: 'merged' | FollowUpReason; readonly set?: Partial<FollowUpRequest> }[] = [
  { ends: 'merged' },
  { ends: 'merged' },
  { ends: 'attempts_used', set: { maxAttempts: 2 } },
  { ends: 'same_failure' },
  { ends: 'push_conflict' },
  { ends: 'locked' },
  { ends: 'branch_deleted' },
]

const modes = ['dies', 'dies', 'fails', 'unanswered'] as const
const kinds = ['checks', 'review', 'comment', 'conflict', 'base', 'pushed'] as const

describe('follow-ups of fifty pull requests', () => {
  it.each([7])('end as they must, whatever happens in whichever order, with seed %s', async seed => {
    const random = seeded(seed)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
    let now = new Date('2026-11-29T12:00:00Z')
    const clock = () => now
    const pulls = new PlayedPulls(clock)
    const request: FollowUpRequest = {
      ...{ maxAttempts: 20, days: 30, merge: 'when_ready', on: ['checks', 'reviews', 'conflicts', 'base'] },
    }
    const by = { kind: 'app_installation' as const, id: tenant.installationId }
    const sessions: PlayedSession[] = []
    for (let number = 1; number <= PULLS; number++) {
      const session = await playSession(db.database, tenant, number, now)
      pulls.open(number, session.head)
      const pull = { number, url: `https://played.test/pull/${number}`, title: 'Pull', draft: false }
      const planned = { ...request, ...planOf(number).set }
      const begun = { publicationId: session.publicationId, pull, headSha: session.head, request: planned, by }
      await db.database.transaction(tx => beginFollowUp(tx, session, begun, now))
      sessions.push(session)
    }
    const numberOf = new Map(sessions.map(({ sessionId, number }) => [sessionId, number]))
    const queues = sessions.map(({ number }) => ({ number, events: shuffled([...kinds, pick(kinds), pick(kinds)]) }))
    const endOf = (sessionId: string): PlayedEnd => {
      const { ends } = planOf(numberOf.get(sessionId) ?? 0)
      return ends === 'same_failure' ? 'changes nothing' : 'changes'
    }
    const late: string[] = []

    let kills = 0
    let age = 0
    const next = () => {
      age = 0
      const strike = { on: pick(strikable), at: 1 + Math.floor(random() * 5), mode: pick(modes) }
      return new CrashingProcess(db.database, pulls, clock, kills < KILLS ? strike : null)
    }
    let process = next()
    for (let round = 0; round < 400; round++) {
      for (const { number, events } of queues) {
        if (random() < 0.5) continue
        const kind = events.shift()
        if (kind !== undefined) happen(number, kind)
        else finish(number)
      }
      if (process.isStruck) kills++
      // Some steps come no more.
      if (process.isStruck || ++age > 4) process = next()
      await process.work()
      await playRuns(db.database, now, endOfRun)
      await playPublications(db.database, pulls, now, watchPush)
      now = new Date(now.getTime() + POLL_MS)
      const { rows } = await db.database.query<{ left: number }>(
        `select count(*)::integer as left from follow_ups where state in ('watching', 'working')
           or (state = 'needs_person' and noted_at is null and reason not in ('locked'))`,
      )
      if (rows[0]?.left === 0 && kills >= KILLS) break
    }

    const { rows } = await db.database.query<FollowUpRow>('select * from follow_ups order by pull_number')
    const ends = rows.map(({ state, reason }) => reason ?? state)
    expect(ends).toEqual(rows.map(({ pull_number }) => planOf(pull_number).ends))
    expect(kills).toBe(KILLS)
    expect(late, 'pushes after the end').toEqual([])
    for (const row of rows) {
      const pull = pulls.of(row.pull_number)
      const ours = pull.comments.filter(({ ours }) => ours).map(({ body }) => body.split('\n')[0])
      expect(ours, `comments of ${row.pull_number}`).toEqual([...new Set(ours)])
      expect(pull.pushes, `pushes of ${row.pull_number}`).toHaveLength(published(row))
      expect(row.attempts).toBeLessThanOrEqual(row.max_attempts)
      const log = await eventsOf(row)
      const attempted = row.turns.map(({ turnId }) => `attempted ${turnId}`)
      expect(log, `events of ${row.pull_number}`).toEqual(['started', ...attempted, 'ended'])
      if (row.state === 'merged') {
        const keys = [
          ...pull.reviews.map(({ id }) => `review ${id}`),
          ...theirs(row.pull_number).map(id => `comment ${id}`),
        ]
        expect(
          keys.filter(key => !row.seen.includes(key)),
          `lost events of ${row.pull_number}`,
        ).toEqual([])
      }
    }

    async function watchPush(sessionId: string): Promise<void> {
      const { rows: now } = await db.database.query<{ state: string }>(
        'select state from follow_ups where session_id = $1',
        [sessionId],
      )
      if (now[0]?.state !== 'working') late.push(`${sessionId} ${now[0]?.state}`)
    }

    function endOfRun(sessionId: string): PlayedEnd {
      const number = numberOf.get(sessionId) ?? 0
      if (planOf(number).ends === 'push_conflict' && pulls.of(number).head === oidOf(`theirs ${number} last`)) {
        return 'push_conflict'
      }
      return endOf(sessionId)
    }

    function published(row: FollowUpRow): number {
      return row.turns.filter(
        ({ publicationId }) =>
          publicationId !== undefined && pulls.of(row.pull_number).pushes.includes(oidOf(publicationId)),
      ).length
    }

    function theirs(number: number): readonly string[] {
      return pulls
        .of(number)
        .comments.filter(({ ours }) => !ours)
        .map(({ id }) => id)
    }

    function shuffled<T>(items: T[]): T[] {
      for (let at = items.length - 1; at > 0; at--) {
        const other = Math.floor(random() * (at + 1))
        ;[items[at], items[other]] = [items[other] as T, items[at] as T]
      }
      return items
    }

    function happen(number: number, kind: (typeof kinds)[number]): void {
      const pull = pulls.of(number)
      if (pull.state !== 'open' || pull.locked) return
      pull.version++
      switch (kind) {
        case 'checks':
          pull.check = { id: `red ${pull.head}`, state: 'failure' }
          return
        case 'review':
          pulls.review(number, `review-${number}`)
          return
        case 'comment':
          pulls.comment(number, `comment-${number}`, 'Please say why.')
          return
        case 'conflict':
          pull.base = oidOf(`base ${now.getTime()}`)
          pull.blockers = ['conflict']
          return
        case 'base':
          pull.base = oidOf(`base ${now.getTime()}`)
          pull.blockers = ['behind']
          return
        case 'pushed':
          pulls.push(number, pull.head, oidOf(`theirs ${number} ${now.getTime()}`), false)
      }
    }

    /** After its events, a pull request comes to what its plan says. */
    function finish(number: number): void {
      const pull = pulls.of(number)
      if (pull.state !== 'open' || pull.locked) return
      switch (planOf(number).ends) {
        case 'locked':
          pull.locked = true
          break
        case 'branch_deleted':
          pull.state = 'closed'
          pull.branchDeleted = true
          break
        case 'push_conflict':
          if (!pull.head.startsWith(oidOf(`theirs ${number} last`)))
            pulls.push(number, pull.head, oidOf(`theirs ${number} last`), false)
          break
        case 'attempts_used':
          pulls.review(number, `more-${number}-${now.getTime()}`)
          break
        case 'same_failure':
          pull.check = { id: `red ${pull.head} ${now.getTime()}`, state: 'failure' }
          break
        default:
          pull.held = false
      }
      pull.version++
    }

    async function eventsOf({ session_id }: FollowUpRow): Promise<string[]> {
      const { rows: events } = await db.database.query<{ type: string; turn: string | null }>(
        `select envelope::json ->> 'type' as type, envelope::json -> 'data' ->> 'turnId' as turn from events
         where session_id = $1 and envelope::json ->> 'type' like 'svc.followup.%' order by sequence`,
        [session_id],
      )
      return events.map(({ type, turn }) =>
        [type.replace('svc.followup.', ''), ...(turn === null ? [] : [turn])].join(' '),
      )
    }
  })
})

/** The plan of a pull request; with each plan come about as many. */
const planOf = (number: number) => plans[number % plans.length] ?? { ends: 'merged' as const, set: {} }
