import { type FollowSettings, readFollowSettings } from '../../accounts/organizations/follow-settings.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import { countAhead } from '../../git/merge-trees.ts'
import type { HostFollowing, Observation } from '../../git-hosts/host-following.ts'
import { type FollowedTurn, type FollowUpRow, turnsOfRound } from '../follow-ups/follow-up.ts'
import type { FollowUpClaim } from '../follow-ups/follow-up-sql.ts'
import { findMerge } from '../merges/merge-sql.ts'
import { findPublication, hasOpenPublication } from '../publications/publication-sql.ts'
import { isActiveAuthor } from '../runs/authority-sql.ts'
import { continuationOfSession, type SessionRow } from '../session/session.ts'
import { findSession } from '../session/session-sql.ts'
import { verifiedState } from '../verifications/is-verified.ts'
import { findVerification } from '../verifications/verification-sql.ts'
import { keyOf } from './decide.ts'
import type { Facts, TurnFacts } from './facts.ts'
import {
  type DeliveryState,
  isOvertaken,
  readDeliveryState,
  readSpent,
  readTurnState,
  type TurnState,
} from './facts-sql.ts'
import { mergeIdOf, publicationIdOf, verificationIdOf } from './step-ids.ts'

/** A host at which pull requests can be followed, with the repository. */
export interface FollowedSource extends DeliverySource {
  readonly following: HostFollowing
}

/** Everything about a follow-up that its next step needs. */
export interface Gathered {
  readonly facts: Facts
  readonly session: SessionRow
  readonly delivery: DeliveryState
  /** Of the newest Turn, unless nothing is left to do for it. */
  readonly turn: (TurnState & { readonly turn: FollowedTurn }) | null
}

/**
 * Reads the rows of a follow-up, and then its host: while a Run works only the rows, because nothing that the host tells
 * is acted on before its end. Whatever the host tells of is newer than the rows, so a head that no row knows may be one
 * that was pushed between the two; its Publication is open then, and the next look finds it.
 * @returns null if the Session is gone
 * @throws GitHostError
 */
export async function gather(
  context: DeliveryContext,
  { row, ...key }: FollowUpClaim,
  source: FollowedSource | null,
  signal: AbortSignal,
): Promise<Gathered | null> {
  const { db, clock } = context
  const last = row.turns.at(-1)
  const open = last === undefined || last.settled === true ? null : last
  const [session, delivery, state, isAuthorized, spentUsd, isPublishing, settings] = await Promise.all([
    findSession(db, key),
    readDeliveryState(db, key, row.pull_number),
    open === null ? null : readTurnState(db, key, open.turnId),
    isActiveAuthor(db, key, { kind: row.started_by_kind, id: row.started_by_id }),
    readSpent(
      db,
      key,
      turnsOfRound(row).map(({ turnId }) => turnId),
    ),
    hasOpenPublication(db, key),
    readFollowSettings(db, key.organizationId),
  ])
  if (session === null) return null
  const turn =
    open === null || state === null
      ? null
      : await turnFacts(context, { row, ...key }, { session, delivery }, { turn: open, ...state })
  const works = turn !== null && (turn.run === 'working' || turn.publication === 'open' || turn.verification === 'open')
  const observed =
    source === null || works
      ? null
      : await source.following.observe(source.repository, row.pull_number, turn === null ? row.cursor : null, signal)
  const merge =
    row.merge === 'never' || delivery.commit_sha === null
      ? null
      : await findMerge(
          db,
          { ...key, publicationId: delivery.publication_id ?? '' },
          mergeIdOf(row, delivery.commit_sha),
        )
  const checks =
    row.merge === 'never' || delivery.published_revision === null
      ? null
      : await verifiedState(db, key, session.environment_id, delivery.published_revision)
  const facts: Facts = {
    now: clock.now(),
    row: { ...row, spent_usd: String(spentUsd) },
    observed,
    writers: observed === null || source === null ? new Set() : await writersOf(row, observed, source, signal),
    stops: settings,
    isOutdated:
      observed !== null && source !== null && (await isOutdated(context, row, settings, { observed, source }, signal)),
    session: {
      isBusy: session.active_run_id !== null || session.finalizing || isPublishing,
      canContinue: session.archived_at === null && canContinue(context, session),
    },
    isAuthorized: isAuthorized && source !== null,
    turn,
    published: new Set(delivery.commits),
    tree: delivery.published_tree,
    merge:
      merge === null
        ? null
        : {
            status: merge.ended_at === null ? 'open' : merge.status === 'succeeded' ? 'succeeded' : 'failed',
            error: merge.error_code,
          },
    isVerified: checks?.verified === true,
  }
  return { facts, session, delivery, turn: open === null || state === null ? null : { ...state, turn: open } }
}

const canContinue = (context: DeliveryContext, session: SessionRow): boolean =>
  session.active_run_id !== null || session.finalizing || continuationOfSession(session, context).canContinue

/** Judges what has become of a Turn. */
async function turnFacts(
  { db }: DeliveryContext,
  { row, ...key }: Omit<FollowUpClaim, 'claim'>,
  { session, delivery }: Pick<Gathered, 'session' | 'delivery'>,
  state: TurnState & { readonly turn: FollowedTurn },
): Promise<TurnFacts> {
  const { turn } = state
  const undelivered = delivery.tree === null || delivery.tree === delivery.published_tree ? null : delivery.revision
  const publication = await findPublication(db, key, publicationIdOf(row, turn.turnId))
  return {
    turn,
    run: runFact(state, session),
    undelivered,
    publication:
      publication === null
        ? 'none'
        : publication.ended_at === null
          ? 'open'
          : publication.status === 'succeeded'
            ? 'succeeded'
            : isOvertaken(publication.error_code)
              ? 'overtaken'
              : 'failed',
    verification: undelivered === null || publication !== null ? 'not_needed' : await verificationFact(),
  }

  async function verificationFact(): Promise<TurnFacts['verification']> {
    if (undelivered === null) return 'not_needed'
    const checks = await verifiedState(db, key, session.environment_id, undelivered)
    if (!checks.required) return 'not_needed'
    if (checks.open) return 'open'
    if (checks.verified) return 'passed'
    return (await findVerification(db, key, verificationIdOf(row, undelivered))) === null ? 'unverified' : 'failed'
  }
}

/** The end of a Run counts once its work is sealed, and its revision with it. */
function runFact(state: TurnState, session: SessionRow): TurnFacts['run'] {
  if (state.status === 'awaiting') return 'asks'
  if (state.ended_at === null || session.finalizing) return 'working'
  if (state.error_code === PUSH_CONFLICT) return 'conflicted'
  return state.status === 'completed' && (state.stop_reason ?? 'completed') === 'completed' ? 'done' : 'failed'
}

/** The `errorCode` of a Run that began with commits which do not go together with the Session's work. */
const PUSH_CONFLICT = 'push_conflict'

/**
 * Returns whether the base is ahead of the head by more commits than the organization lets it. Commits are counted here, so
 * hosts need not tell; only where the organization has a bound.
 * @throws GitHostError
 */
async function isOutdated(
  { sources }: DeliveryContext,
  row: FollowUpRow,
  { baseCommits }: FollowSettings,
  { observed, source }: { readonly observed: Observation; readonly source: FollowedSource },
  signal: AbortSignal,
): Promise<boolean> {
  const { baseOid, pull } = observed
  if (baseCommits === null || baseOid === null || !row.causes.includes('base')) return false
  await sources.mirror({ ...source, baseOid: pull.headOid }, signal)
  const mirror = await sources.mirror({ ...source, baseOid }, signal)
  return (await countAhead(mirror, { oid: baseOid, of: pull.headOid, most: baseCommits + 1 }, signal)) > baseCommits
}

/** Returns the logins, of those who wrote what has not been seen yet, that may push to the repository or are named. */
async function writersOf(
  row: FollowUpRow,
  { comments, reviews }: Observation,
  { following, repository }: FollowedSource,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const seen = new Set(row.seen)
  const written = [...comments, ...reviews, ...reviews.flatMap(review => review.comments)]
  const logins = new Set(written.filter(one => !one.isOurs && !seen.has(keyOf(one))).map(({ author }) => author.login))
  const writers = new Set<string>()
  const named = new Set(row.people.map(login => login.toLowerCase()))
  for (const login of logins) {
    if (named.has(login.toLowerCase()) || (await following.rightOf(repository, login, signal)) === 'write')
      writers.add(login)
  }
  return writers
}
