import type { FollowUpReason } from '@berth/contract'
import { describe, expect, it } from 'vitest'
import type { FollowedCheck, FollowedComment, FollowedReview, Observation } from '../../git-hosts/host-following.ts'
import type { FollowUpRow } from '../follow-ups/follow-up.ts'
import { decide } from './decide.ts'
import type { Decision, Facts, TurnFacts } from './facts.ts'

const times = { pollMs: 120_000, workMs: 2_000, restMs: 60_000 }
const now = new Date('2026-11-29T12:00:00Z')
const head = 'a'.repeat(40)
const base = 'b'.repeat(40)
const ann = { id: '1', login: 'ann' }
const stranger = { id: '2', login: 'stranger' }

const row: FollowUpRow = {
  organization_id: 'o',
  session_id: 's',
  publication_id: 'p',
  pull_number: 7,
  pull_url: 'https://host.test/7',
  pull_title: 'Change it',
  pull_state: 'open',
  state: 'watching',
  reason: null,
  awaits: 'host',
  round: 1,
  attempts: 0,
  max_attempts: 2,
  budget_usd: '1',
  spent_usd: '0',
  until: new Date('2026-12-06T12:00:00Z'),
  merge: 'never',
  people: [],
  causes: ['checks', 'reviews', 'conflicts', 'base'],
  started_by_kind: 'person',
  started_by_id: 'i',
  head_sha: head,
  turns: [],
  seen: [],
  marks: {},
  cursor: null,
  noted_at: null,
  failures: 0,
  created_at: now,
  updated_at: now,
  ended_at: null,
}

const pull: Observation['pull'] = {
  number: 7,
  url: 'https://host.test/7',
  title: 'Change it',
  body: '',
  draft: false,
  fromFork: false,
  state: 'open',
  headBranch: 'svc/x',
  headOid: head,
  baseBranch: 'main',
  mergeable: 'yes',
  blockers: [],
}
const check = (name: string, set: Partial<FollowedCheck> = {}): FollowedCheck => ({
  ...{ name, id: name, state: 'success', url: null, required: true },
  ...{ conclusion: null, completedAt: null, summary: null },
  ...set,
})
const red = (name: string, set: Partial<FollowedCheck> = {}) =>
  check(name, { state: 'failure', conclusion: 'failure', ...set })
const comment = (id: string, set: Partial<FollowedComment> = {}): FollowedComment => ({
  ...{ id, author: ann, isBot: false, isOurs: false, path: null, line: null, threadId: null, body: 'please' },
  createdAt: new Date(now.getTime() - 61_000),
  ...set,
})
const review = (id: string, set: Partial<FollowedReview> = {}): FollowedReview => ({
  ...{ id, author: ann, isBot: false, isOurs: false, state: 'changes_requested', body: 'no', submittedAt: now },
  comments: [],
  ...set,
})
const seen = (set: Partial<Observation> = {}): Observation => ({
  ...{ pull, baseOid: base, branchDeleted: false, locked: false, labels: [], assignees: [], checks: [] },
  ...{ reviews: [], comments: [], cursor: 'c' },
  ...set,
})
const turn = (set: Partial<TurnFacts> = {}): TurnFacts => ({
  turn: { turnId: 't', cause: 'checks', key: 'k', at: now.toISOString(), threads: [] },
  ...{ run: 'done', undelivered: null, publication: 'none', verification: 'not_needed' },
  ...set,
})
const given = (set: Partial<Facts> = {}): Facts => ({
  ...{ now, row, observed: seen(), writers: new Set(['ann']), session: { isBusy: false, canContinue: true } },
  ...{ isAuthorized: true, turn: null, published: new Set([head]), tree: 'tree', merge: null, isVerified: false },
  ...{ stops: { label: null, assignee: null }, isOutdated: false },
  ...set,
})
/** The decision in a word: its kind and what tells it from others of the kind. */
function inShort(decision: Decision): string {
  switch (decision.kind) {
    case 'wait':
      return `wait ${decision.ms} ${decision.awaits}${decision.settled ? ' settled' : ''}`
    case 'turn':
      return `turn ${decision.event.cause}`
    case 'need':
      return `need ${decision.reason}`
    case 'end':
      return `end ${decision.state}`
    case 'stop':
      return `stop ${decision.by}`
    case 'verify':
    case 'publish':
      return `${decision.kind} ${decision.revision}`
    default:
      return decision.kind
  }
}
const ready: FollowUpRow = { ...row, merge: 'when_ready' }
const conflict: Observation['pull'] = { ...pull, mergeable: 'no', blockers: ['conflict'] }
const resting = (reason: FollowUpReason): FollowUpRow => ({ ...row, state: 'needs_person', reason, noted_at: now })

/** Each row: what is so, the facts, and the decision. Those above come before those below when both hold. */
const table: readonly [string, Partial<Facts>, string][] = [
  ['it is merged', { observed: seen({ pull: { ...pull, state: 'merged' } }) }, 'end merged'],
  [
    'it is merged while it needs a person',
    { row: resting('run_failed'), observed: seen({ pull: { ...pull, state: 'merged' } }) },
    'end merged',
  ],
  ['it is closed', { observed: seen({ pull: { ...pull, state: 'closed' } }) }, 'end closed'],
  [
    'its branch was deleted',
    { observed: seen({ pull: { ...pull, state: 'closed' }, branchDeleted: true }) },
    'need branch_deleted',
  ],
  ['a writer says stop', { observed: seen({ comments: [comment('1', { body: 'Hm.\n@berth stop' })] }) }, 'stop ann'],
  [
    'a writer says stop while it works',
    { turn: turn(), observed: seen({ comments: [comment('1', { body: '@berth stop' })] }) },
    'stop ann',
  ],
  [
    'a stranger says stop',
    { observed: seen({ comments: [comment('1', { body: '@berth stop', author: stranger })] }) },
    'wait 120000 person settled',
  ],
  ['its label is gone', { row: { ...row, marks: { labels: ['Berth'] } } }, 'stop null'],
  ['another label is gone', { row: { ...row, marks: { labels: ['bug'] } } }, 'wait 120000 person settled'],
  ['its assignment is gone', { row: { ...row, marks: { assignees: ['berth[bot]'] } } }, 'stop null'],
  [
    "the organization's label is gone",
    { row: { ...row, marks: { labels: ['Agent'] } }, stops: { label: 'agent', assignee: null } },
    'stop null',
  ],
  [
    'the usual label is gone, and the organization has another',
    { row: { ...row, marks: { labels: ['berth'] } }, stops: { label: 'agent', assignee: null } },
    'wait 120000 person settled',
  ],
  [
    "the assignment of the organization's app is gone",
    { row: { ...row, marks: { assignees: ['acme[bot]'] } }, stops: { label: null, assignee: 'Acme' } },
    'stop null',
  ],
  [
    'the assignment of another app is gone',
    { row: { ...row, marks: { assignees: ['other[bot]'] } }, stops: { label: null, assignee: 'acme' } },
    'wait 120000 person settled',
  ],
  [
    'it needs a person',
    { row: resting('attempts_used'), observed: seen({ checks: [red('test')] }) },
    'wait 600000 person settled',
  ],
  [
    'its question is answered',
    { row: resting('question_open'), turn: turn({ run: 'working' }), observed: null },
    'resume',
  ],
  ['its question is open', { row: resting('question_open'), turn: turn({ run: 'asks' }) }, 'wait 2000 person settled'],
  [
    'its push is under way though nobody answers for it',
    { isAuthorized: false, turn: turn({ publication: 'open' }) },
    'wait 2000 host',
  ],
  ['nobody answers for it', { isAuthorized: false, observed: null }, 'need authority_revoked'],
  ['it is locked', { observed: seen({ locked: true }) }, 'need locked'],
  ['its time is over', { row: { ...row, until: now }, observed: null }, 'need time_used'],
  [
    'its time is over while a Run works',
    { row: { ...row, until: now }, turn: turn({ run: 'working' }), observed: null },
    'need time_used',
  ],
  ['a Run works', { turn: turn({ run: 'working' }), observed: null }, 'wait 2000 host'],
  ['a Run asks', { turn: turn({ run: 'asks' }) }, 'need question_open'],
  ['a Run failed', { turn: turn({ run: 'failed' }) }, 'need run_failed'],
  ['their commits do not go in', { turn: turn({ run: 'conflicted' }) }, 'need push_conflict'],
  ['a Run changed nothing', { turn: turn() }, 'settle'],
  ['a Run has changes', { turn: turn({ undelivered: 'r' }) }, 'publish r'],
  ['its checks have not begun', { turn: turn({ undelivered: 'r', verification: 'unverified' }) }, 'verify r'],
  ['its checks run', { turn: turn({ undelivered: 'r', verification: 'open' }) }, 'wait 2000 host'],
  ['its checks passed', { turn: turn({ undelivered: 'r', verification: 'passed' }) }, 'publish r'],
  ['its checks failed', { turn: turn({ undelivered: 'r', verification: 'failed' }) }, 'need publication_failed'],
  ['its work is published', { turn: turn({ publication: 'succeeded' }) }, 'settle'],
  ['somebody was faster', { turn: turn({ publication: 'overtaken', undelivered: 'r' }) }, 'settle'],
  [
    'its work cannot be published',
    { turn: turn({ publication: 'failed', undelivered: 'r' }) },
    'need publication_failed',
  ],
  ['the Session is over', { session: { isBusy: false, canContinue: false } }, 'need session_ended'],
  ['nothing is new', { observed: null }, 'wait 120000 host settled'],
  [
    'the Session is busy',
    { session: { isBusy: true, canContinue: true }, observed: seen({ checks: [red('test')] }) },
    'wait 2000 host',
  ],
  [
    'somebody pushed',
    { published: new Set(['c']), observed: seen({ pull: { ...conflict, headOid: 'd' } }) },
    'turn pushed',
  ],
  [
    'somebody pushed what was taken in',
    { row: { ...row, head_sha: 'd' }, observed: seen({ pull: { ...pull, headOid: 'd' } }) },
    'wait 120000 person settled',
  ],
  [
    'the host shows an older head',
    { row: { ...row, head_sha: 'n' }, observed: seen({ checks: [red('test')] }) },
    'wait 2000 host',
  ],
  ['it conflicts', { observed: seen({ pull: conflict, checks: [red('test')] }) }, 'turn conflicts'],
  [
    'it conflicts as before',
    { row: { ...row, seen: [`conflicts ${head} ${base}`] }, observed: seen({ pull: conflict }) },
    'need same_failure',
  ],
  [
    'conflicts are not followed',
    { row: { ...row, causes: ['checks'] }, observed: seen({ pull: conflict, checks: [red('test')] }) },
    'turn checks',
  ],
  ['its base moved', { observed: seen({ pull: { ...pull, blockers: ['behind'] } }) }, 'turn base'],
  ['its base is ahead by more than the organization lets it', { isOutdated: true }, 'turn base'],
  [
    'its base is ahead as before',
    { row: { ...row, seen: [`base ${head} ${base}`] }, isOutdated: true },
    'wait 120000 person settled',
  ],
  [
    'its base is ahead, and a moved base is not followed',
    { row: { ...row, causes: ['checks'] }, isOutdated: true },
    'wait 120000 person settled',
  ],
  [
    'its base moved as before',
    { row: { ...row, seen: [`base ${head} ${base}`] }, observed: seen({ pull: { ...pull, blockers: ['behind'] } }) },
    'wait 120000 person settled',
  ],
  ['a required check failed', { observed: seen({ checks: [red('test'), check('lint')] }) }, 'turn checks'],
  [
    'another required check runs',
    { observed: seen({ checks: [red('test'), check('lint', { state: 'pending' })] }) },
    'wait 120000 host settled',
  ],
  [
    'a required check is missing',
    { observed: seen({ checks: [red('test'), check('lint', { state: 'missing' })] }) },
    'wait 120000 host settled',
  ],
  [
    'a check failed that nothing requires',
    { observed: seen({ checks: [red('test', { required: false }), check('lint')] }) },
    'wait 120000 person settled',
  ],
  [
    'a check failed and none is required',
    { observed: seen({ checks: [red('test', { required: false })] }) },
    'turn checks',
  ],
  [
    'attempts are used',
    { row: { ...row, attempts: 2 }, observed: seen({ checks: [red('test')] }) },
    'need attempts_used',
  ],
  ['attempts are used and nothing happens', { row: { ...row, attempts: 2 } }, 'wait 120000 person settled'],
  [
    'the budget is used',
    { row: { ...row, spent_usd: '1.00' }, observed: seen({ checks: [red('test')] }) },
    'need budget_used',
  ],
  ['a review asks for changes', { observed: seen({ reviews: [review('1')] }) }, 'turn reviews'],
  [
    'a review was dealt with',
    { row: { ...row, seen: ['review 1'] }, observed: seen({ reviews: [review('1')] }) },
    'wait 120000 person settled',
  ],
  [
    'a stranger reviews',
    { observed: seen({ reviews: [review('1', { author: stranger })] }) },
    'wait 120000 person settled',
  ],
  [
    'a review approves in words',
    { observed: seen({ reviews: [review('1', { state: 'approved' })] }) },
    'wait 120000 person settled',
  ],
  ['a comment has rested', { observed: seen({ comments: [comment('1')] }) }, 'turn reviews'],
  [
    'a comment is fresh',
    { observed: seen({ comments: [comment('1'), comment('2', { createdAt: now })] }) },
    'wait 2000 host',
  ],
  [
    'a comment is ours',
    { observed: seen({ comments: [comment('1', { isOurs: true })] }) },
    'wait 120000 person settled',
  ],
  ['it is ready', { row: ready, observed: seen({ checks: [check('test')] }) }, 'merge'],
  ['its list of checks is empty', { row: ready }, 'wait 120000 person'],
  ['its list of checks is empty and it is verified', { row: ready, isVerified: true }, 'merge'],
  ['its checks are hidden', { row: ready, observed: seen({ checks: null }) }, 'merge'],
  [
    'a check that nothing requires runs',
    { row: ready, observed: seen({ checks: [check('test'), check('slow', { required: false, state: 'pending' })] }) },
    'merge',
  ],
  [
    'a reviewer is against it',
    { row: { ...ready, seen: ['review 1'] }, observed: seen({ checks: [check('test')], reviews: [review('1')] }) },
    'wait 120000 person',
  ],
  [
    'the reviewer has approved since',
    {
      row: { ...ready, seen: ['review 1'] },
      observed: seen({ checks: [check('test')], reviews: [review('1'), review('2', { state: 'approved' })] }),
    },
    'merge',
  ],
  [
    'the host is undecided',
    { row: ready, observed: seen({ pull: { ...pull, mergeable: 'unknown' }, checks: [check('test')] }) },
    'wait 120000 host',
  ],
  [
    'its merge is under way',
    { row: ready, merge: { status: 'open', error: null }, observed: seen({ checks: [check('test')] }) },
    'wait 2000 host',
  ],
  [
    'its merge was refused',
    { row: ready, merge: { status: 'failed', error: 'merge_refused' }, observed: seen({ checks: [check('test')] }) },
    'need merge_refused',
  ],
  [
    'its head moved before the merge',
    { row: ready, merge: { status: 'failed', error: 'head_moved' }, observed: seen({ checks: [check('test')] }) },
    'wait 120000 host',
  ],
  [
    'somebody else put the head there',
    { row: { ...ready, head_sha: 'd' }, observed: seen({ pull: { ...pull, headOid: 'd' }, checks: [check('test')] }) },
    'wait 120000 person',
  ],
]

describe('the next step of a follow-up', () => {
  it.each(table)('when %s', (_, facts, expected) => {
    expect(inShort(decide(given(facts), times))).toBe(expected)
  })
})

const eventOf = (facts: Partial<Facts>) => {
  const decision = decide(given(facts), times)
  if (decision.kind !== 'turn') throw new Error(`it is ${inShort(decision)}`)
  return decision.event
}

describe('an event of the pull request', () => {
  it('is the same in whatever order the host lists its checks', () => {
    const keys = [
      [red('a'), red('b')],
      [red('b'), red('a')],
    ].map(checks => eventOf({ observed: seen({ checks }) }).key)
    expect(new Set(keys).size).toBe(1)
  })

  it('makes no second Turn for another run of the same checks on the same change', () => {
    const first = eventOf({ observed: seen({ checks: [red('test', { id: '1' })] }) })
    const again = given({
      row: { ...row, seen: [...first.seen] },
      observed: seen({ checks: [red('test', { id: '2' })] }),
    })
    expect(inShort(decide(again, times))).toBe('need same_failure')
  })

  it('makes one more Turn when the same checks fail on another change', () => {
    const first = eventOf({ observed: seen({ checks: [red('test')] }) })
    const set = { row: { ...row, seen: [...first.seen] }, tree: 'another' }
    expect(eventOf({ ...set, observed: seen({ checks: [red('test')] }) }).cause).toBe('checks')
  })

  it('holds every review and rested comment that nobody has dealt with', () => {
    const { seen: keys } = eventOf({
      observed: seen({ reviews: [review('1'), review('2')], comments: [comment('3')] }),
    })
    expect(keys).toEqual(['review 1', 'review 2', 'comment 3'])
  })
})
