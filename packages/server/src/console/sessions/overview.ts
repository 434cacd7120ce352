import type { SessionState } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { listInteractions } from '@berth/core/sessions/interactions/list-interactions.ts'
import { pageMerges } from '@berth/core/sessions/merges/read-merge.ts'
import { pagePublications } from '@berth/core/sessions/publications/read-publication.ts'
import { runOfTurn } from '@berth/core/sessions/runs/read-run.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import { toSession } from '@berth/core/sessions/session/session.ts'
import { readWholePage } from '@berth/core/sessions/streams/read-log.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { readNextTurn } from '../next-turns/write-next-turn.ts'

const EVENTS = 100
const PUBLICATIONS = 20
const MERGES = 5

/**
 * Returns the JSON text of everything that the first look at a Session needs. The Events go out as they were stored, and
 * what comes after `lastSequence` is a stream's to tell.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function readOverview(
  context: Context,
  person: PersonPrincipal,
  key: SessionKey,
  stateOf: () => Promise<SessionState>,
): Promise<string> {
  const { db } = context
  const row = await readSession(context, person, key)
  const after = Math.max(0, row.last_event_sequence - EVENTS)
  const [state, run, { interactions }, { publications }, nextTurn, log] = await Promise.all([
    stateOf(),
    row.active_run_id === null ? null : runOfTurn(db, key, row.active_run_id),
    listInteractions(context, person, key),
    pagePublications(context, person, key, { limit: PUBLICATIONS }),
    readNextTurn(context, person, key),
    readWholePage(context, key, after, EVENTS),
  ])
  const delivered = publications.filter(({ result }) => result?.pullRequest !== undefined)
  const pages = await Promise.all(
    delivered.map(({ id }) => pageMerges(context, person, { ...key, publicationId: id }, { limit: MERGES })),
  )
  const merges = pages.flatMap(page => page.merges)
  const session = toSession(row, context)
  const head = JSON.stringify({ session, state, run, interactions, publications, merges, nextTurn })
  // The log may have grown since: a client follows it from the last Event that it got.
  const lastSequence = after + Number(log?.events ?? 0)
  return `${head.slice(0, -1)},"events":[${log?.envelopes ?? ''}],"lastSequence":${lastSequence}}`
}
