import { createHash } from 'node:crypto'
import type { FollowableCause } from '@berth/contract'
import type { FollowTimes } from '../../delivery/delivery-context.ts'
import type { FollowedCheck, FollowedComment, FollowedReview, Observation } from '../../git-hosts/host-following.ts'
import type { Decision, Facts, FollowedEvent, TurnFacts } from './facts.ts'

/** While it needs a person, the host is asked this much more rarely. */
const RESTING = 5

/** What the words of a comment must begin with, on a line of its own, to stop a follow-up. */
const stopCommand = /^[ \t]{0,3}@berth[ \t]+stop\b/im

/**
 * Decides on the next step of a follow-up. The order is that of the contract: the end of the pull request, requests to
 * stop, what makes work impossible, the Turn that is under way, bounds, somebody else's commits, conflicts, a moved base,
 * failed checks, reviews, the merge.
 */
export function decide(facts: Facts, times: FollowTimes): Decision {
  const { row, observed, turn } = facts
  const ended = observed === null ? null : endOf(observed)
  if (ended !== null) return ended
  const stop = observed === null ? null : stopOf(facts, observed)
  if (stop !== null) return stop
  if (row.state === 'needs_person') return resting(facts, times)
  // Its push may have begun, which nobody takes back.
  if (turn?.publication === 'open') return workOn(turn, times)
  if (!facts.isAuthorized) return { kind: 'need', reason: 'authority_revoked' }
  if (observed?.branchDeleted) return { kind: 'need', reason: 'branch_deleted' }
  if (observed?.locked) return { kind: 'need', reason: 'locked' }
  if (facts.now >= row.until) return { kind: 'need', reason: 'time_used' }
  if (turn !== null) return workOn(turn, times)
  if (!facts.session.canContinue) return { kind: 'need', reason: 'session_ended' }
  if (observed === null) return { kind: 'wait', ms: times.pollMs, awaits: row.awaits, settled: true }
  if (facts.session.isBusy) return { kind: 'wait', ms: times.workMs, awaits: 'host', settled: false }
  const event = pushedOf(facts, observed) ?? eventOf(facts, observed, times)
  if (event === 'same_failure') return { kind: 'need', reason: 'same_failure' }
  if (event === 'later') return { kind: 'wait', ms: times.workMs, awaits: 'host', settled: false }
  if (event !== null) return withinBounds(facts, event)
  return mergeOrWait(facts, observed, times)
}

function endOf({ pull, branchDeleted }: Observation): Decision | null {
  if (pull.state === 'merged') return { kind: 'end', state: 'merged' }
  // Whoever deletes the branch closes the pull request, which may be a slip.
  if (pull.state === 'closed' && !branchDeleted) return { kind: 'end', state: 'closed' }
  return null
}

/** Whether the removal of a label, or of a login from the assignees, stops a follow-up. */
const isOurLabel =
  (own: string | null) =>
  (label: string): boolean =>
    label.toLowerCase() === (own ?? 'berth').toLowerCase()
const isOurLogin =
  (own: string | null) =>
  (login: string): boolean =>
    own === null
      ? /^berth$|\[bot\]$/i.test(login)
      : login.toLowerCase().replace(/\[bot\]$/, '') === own.toLowerCase().replace(/\[bot\]$/, '')

function stopOf(
  { row, writers, stops }: Facts,
  { comments, reviews, labels, assignees }: Observation,
): Decision | null {
  const seen = new Set(row.seen)
  const asks = [...comments, ...reviews.flatMap(review => [review, ...review.comments])].find(
    one => !seen.has(keyOf(one)) && !one.isOurs && writers.has(one.author.login) && stopCommand.test(one.body),
  )
  if (asks !== undefined) return { kind: 'stop', by: asks.author.login }
  const { marks } = row
  const isGone = (before: readonly string[] | undefined, now: readonly string[], ours: (name: string) => boolean) =>
    before?.some(name => ours(name) && !now.includes(name)) === true
  const [isLabel, isLogin] = [isOurLabel(stops.label), isOurLogin(stops.assignee)]
  if (isGone(marks.labels, labels, isLabel) || isGone(marks.assignees, assignees, isLogin)) {
    return { kind: 'stop', by: null }
  }
  return null
}

/** A follow-up that needs a person looks whether the pull request has ended, and whether its question is answered. */
function resting({ row, turn }: Facts, times: FollowTimes): Decision {
  if (row.reason === 'question_open' && turn?.run !== 'asks') return { kind: 'resume' }
  const ms = row.reason === 'question_open' ? times.workMs : times.pollMs * RESTING
  return { kind: 'wait', ms, awaits: 'person', settled: true }
}

/** Takes the newest Turn a step further. */
function workOn({ run, undelivered, publication, verification }: TurnFacts, times: FollowTimes): Decision {
  const wait: Decision = { kind: 'wait', ms: times.workMs, awaits: 'host', settled: false }
  switch (run) {
    case 'working':
      return wait
    case 'asks':
      return { kind: 'need', reason: 'question_open' }
    case 'failed':
      return { kind: 'need', reason: 'run_failed' }
    case 'conflicted':
      return { kind: 'need', reason: 'push_conflict' }
    case 'done':
  }
  switch (publication) {
    case 'open':
      return wait
    case 'failed':
      return { kind: 'need', reason: 'publication_failed' }
    case 'succeeded':
    case 'overtaken':
      return { kind: 'settle' }
    case 'none':
  }
  if (undelivered === null) return { kind: 'settle' }
  if (verification === 'open') return wait
  if (verification === 'unverified') return { kind: 'verify', revision: undelivered }
  if (verification === 'failed') return { kind: 'need', reason: 'publication_failed' }
  return { kind: 'publish', revision: undelivered }
}

function withinBounds({ row }: Facts, event: FollowedEvent): Decision {
  if (row.attempts >= row.max_attempts) return { kind: 'need', reason: 'attempts_used' }
  if (row.budget_usd !== null && Number(row.spent_usd) >= Number(row.budget_usd)) {
    return { kind: 'need', reason: 'budget_used' }
  }
  return { kind: 'turn', event }
}

const noEvent = { seen: [], bring: [], checks: [], reviews: [], comments: [] }

/** Commits at the head that the Session did not put there, nor has taken in. */
function pushedOf({ row, published }: Facts, { pull }: Observation): FollowedEvent | null {
  if (published.has(pull.headOid) || row.head_sha === pull.headOid) return null
  return { ...noEvent, cause: 'pushed', key: `pushed ${pull.headOid}`, bring: [{ kind: 'pushed', oid: pull.headOid }] }
}

/** What of the pull request is to be worked on next; `later` if it is not known yet. */
function eventOf(
  facts: Facts,
  observed: Observation,
  times: FollowTimes,
): FollowedEvent | 'later' | 'same_failure' | null {
  const { row } = facts
  const follows = (cause: FollowableCause) => row.causes.includes(cause)
  const { pull, baseOid } = observed
  // The host still shows the head before the last push.
  if (row.head_sha !== null && pull.headOid !== row.head_sha) return 'later'
  for (const [cause, blocker] of [
    ['conflicts', 'conflict'],
    ['base', 'behind'],
  ] as const) {
    const stands = pull.blockers.includes(blocker) || (cause === 'base' && facts.isOutdated)
    if (!follows(cause) || baseOid === null || !stands) continue
    const key = `${cause} ${pull.headOid} ${baseOid}`
    if (!row.seen.includes(key)) return { ...noEvent, cause, key, bring: [{ kind: 'base', oid: baseOid }] }
    // The Turn for it has left everything as it was.
    if (cause === 'conflicts') return 'same_failure'
  }
  return (
    (follows('checks') ? checksOf(facts, observed) : null) ??
    (follows('reviews') ? reviewsOf(facts, observed, times) : null)
  )
}

/**
 * The failed checks of the head, once all that count have ended: the required ones, or every one if none is required. Of a
 * head without checks nothing is known.
 */
function checksOf({ row, tree }: Facts, { pull, checks }: Observation): FollowedEvent | 'same_failure' | null {
  const counted = countedOf(checks)
  if (counted.some(({ state }) => state === 'pending' || state === 'missing')) return null
  const failed = counted.filter(({ state }) => state === 'failure')
  if (failed.length === 0) return null
  const names = failed.map(({ name, conclusion }) => [name, conclusion]).sort()
  const failure = `failure ${digest([tree ?? pull.headOid, names])}`
  const key = `checks ${pull.headOid} ${digest(failed.map(({ name, id }) => [name, id]).sort())}`
  // Another failure of the same change tells nothing new: the Turn for the first one did not help.
  if (row.seen.includes(failure)) return 'same_failure'
  return { ...noEvent, cause: 'checks', key, seen: [failure], checks: failed }
}

function countedOf(checks: Observation['checks']): readonly FollowedCheck[] {
  const required = (checks ?? []).filter(check => check.required)
  return required.length > 0 ? required : (checks ?? [])
}

/** Names a comment or a review among the events. */
export const keyOf = (one: FollowedComment | FollowedReview): string =>
  'submittedAt' in one ? `review ${one.id}` : `comment ${one.id}`

/** Reviews and comments of people who may push, and that ask for something. Single comments wait for more. */
function reviewsOf(
  { row, writers, now }: Facts,
  observed: Observation,
  times: FollowTimes,
): FollowedEvent | 'later' | null {
  const seen = new Set(row.seen)
  const counts = (one: FollowedComment | FollowedReview) =>
    !one.isOurs && !seen.has(keyOf(one)) && writers.has(one.author.login)
  const reviews = observed.reviews.filter(review => counts(review) && asksForWork(review))
  const comments = observed.comments.filter(comment => counts(comment) && comment.body.trim() !== '')
  const newest = Math.max(0, ...comments.map(({ createdAt }) => createdAt.getTime()))
  const rested = newest + times.restMs <= now.getTime()
  if (reviews.length === 0 && (comments.length === 0 || !rested)) return comments.length === 0 ? null : 'later'
  const taken = rested ? comments : []
  const keys = [...reviews, ...taken].map(keyOf)
  const key = `reviews ${digest([...keys].sort())}`
  return { ...noEvent, cause: 'reviews', key, seen: keys, reviews, comments: taken }
}

/** Approval in words alone asks for nothing. */
const asksForWork = ({ state, body, comments }: FollowedReview): boolean =>
  state === 'changes_requested' || comments.length > 0 || (state === 'commented' && body.trim() !== '')

function mergeOrWait(facts: Facts, observed: Observation, times: FollowTimes): Decision {
  const { row, merge } = facts
  const isPending = countedOf(observed.checks).some(({ state }) => state === 'pending' || state === 'missing')
  const wait = (awaits: 'host' | 'person', settled: boolean, ms = times.pollMs): Decision => ({
    ...{ kind: 'wait', ms, awaits, settled },
  })
  if (row.merge === 'never') return wait(isPending ? 'host' : 'person', true)
  if (merge?.status === 'open') return wait('host', false, times.workMs)
  // Whoever moved the head has made another event of it.
  if (merge?.status === 'failed' && merge.error !== 'head_moved') return { kind: 'need', reason: 'merge_refused' }
  if (merge !== null) return wait('host', false)
  // Somebody else's commit is theirs to merge.
  if (!facts.published.has(observed.pull.headOid)) return wait('person', false)
  if (isPending) return wait('host', false)
  if (observed.pull.mergeable !== 'yes' || !isGreen(facts, observed) || isOpposed(observed)) {
    return wait(observed.pull.mergeable === 'unknown' ? 'host' : 'person', false)
  }
  return { kind: 'merge' }
}

/** A head is green once a check has passed and none has failed. One without any is not: its checks may not have begun. */
function isGreen({ isVerified }: Facts, { checks }: Observation): boolean {
  // The host does not show its checks, and merges nothing before they have passed.
  if (checks === null) return true
  const counted = countedOf(checks)
  if (counted.some(({ state }) => state === 'failure')) return false
  return isVerified || counted.some(({ state }) => state === 'success')
}

/** Whether somebody has asked for changes, and has neither approved since nor been dismissed. */
function isOpposed({ reviews }: Observation): boolean {
  const last = new Map<string, FollowedReview['state']>()
  for (const { author, state } of reviews) if (state !== 'commented') last.set(author.id, state)
  return [...last.values()].includes('changes_requested')
}

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)
