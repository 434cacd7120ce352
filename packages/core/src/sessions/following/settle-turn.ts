import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import { claimedFollowUps, type FollowUpClaim } from '../follow-ups/follow-up-sql.ts'
import { sessionRedactor } from '../log/session-redactor.ts'
import { findPublication } from '../publications/publication-sql.ts'
import type { FollowedSource, Gathered } from './gather.ts'
import { markerOf } from './step-ids.ts'
import { FollowUpTaken, observedColumns, publish, release } from './steps.ts'
import { answerTo } from './turn-text.ts'

/** How long before the Turn an answer may have been written by the host's clock, in milliseconds. */
const CLOCKS_MS = 3_600_000
/** How long the claim stands while one answer is written, in milliseconds. */
const ANSWER_MS = 60_000

/**
 * Answers the comments that a Turn was about, each thread once, and closes the Turn. Answers are looked for before they are
 * written: whoever went before may have died in between.
 * @throws FollowUpTaken, GitHostError
 */
export async function settleTurn(
  context: DeliveryContext,
  claim: FollowUpClaim,
  { facts, turn }: Gathered,
  source: FollowedSource,
  signal: AbortSignal,
): Promise<void> {
  if (turn === null) throw new FollowUpTaken()
  const { now, row } = facts
  const { turn: followed } = turn
  await answer(context, claim, turn, source, signal)
  const pushed =
    followed.cause === 'pushed' && followed.publicationId === undefined ? followed.key.split(' ')[1] : undefined
  const turns = [...row.turns.slice(0, -1), { ...followed, settled: true }]
  const columns = { ...observedColumns(facts), state: 'watching', turns, cursor: null, updated_at: now } as const
  // Their commits are in the workspace, and nothing was to be added.
  const head = pushed === undefined ? {} : { head_sha: pushed }
  await context.db.transaction(tx => release(tx, claim, { ...columns, ...head }, now))
  publish(context, claim)
}

async function answer(
  context: DeliveryContext,
  claim: FollowUpClaim,
  { turn, summary }: NonNullable<Gathered['turn']>,
  { following, repository }: FollowedSource,
  signal: AbortSignal,
): Promise<void> {
  if (turn.threads.length === 0) return
  const { row } = claim
  const redactor = await sessionRedactor(context.db, claim)
  const text = redactor.text(summary ?? '')
  const published =
    turn.publicationId === undefined ? null : await findPublication(context.db, claim, turn.publicationId)
  const commit = published?.result?.commitSha
  const answers = new Map<string | null, string[]>()
  for (const [index, thread] of turn.threads.entries()) {
    const answer = answerTo(text, index + 1) || 'Done.'
    const before = answers.get(thread) ?? []
    if (!before.includes(answer)) answers.set(thread, [...before, answer])
  }
  const since = new Date(new Date(turn.at).getTime() - CLOCKS_MS)
  const at = { number: row.pull_number, since }
  for (const [thread, paragraphs] of answers) {
    const marker = markerOf(row, 'answer', JSON.stringify([turn.turnId, thread]))
    if ((await following.findReply(repository, at, marker, signal)) !== null) continue
    // Whoever has stopped the follow-up has taken the claim away: nothing is written after that.
    const until = new Date(context.clock.now().getTime() + ANSWER_MS)
    if (!(await claimedFollowUps.renew(context.db, claim.claim, until))) throw new FollowUpTaken()
    const pushed = commit === undefined ? [] : [`Pushed as ${commit.slice(0, 12)}.`]
    const body = [marker, ...paragraphs, ...pushed].join('\n\n')
    await following.reply(repository, row.pull_number, { threadId: thread }, body, signal)
  }
}
