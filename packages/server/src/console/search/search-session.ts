import type { SessionMatch, SessionMatchPage } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { findText } from './find-text.ts'
import { searchSealed } from './search-sealed.ts'
import { findCandidates } from './search-sql.ts'

/** One request looks at so much of a log; the next goes on from there. */
const WINDOW = { events: 20_000, bytes: 32 * 1024 ** 2, limit: 200 }
const MATCHES = 50

/**
 * Searches what a Session's Events tell people, the newest first. The log is searched as it is stored, so what was
 * masked there is never found.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function searchSession(
  context: Context,
  person: PersonPrincipal,
  key: SessionKey,
  { q, before }: { readonly q: string; readonly before?: number },
): Promise<SessionMatchPage> {
  await readSession(context, person, key)
  // As the words stand inside a JSON string.
  const part = JSON.stringify(q).slice(1, -1)
  const from = before ?? Number.MAX_SAFE_INTEGER
  const window = { ...WINDOW, before: from, part }
  const found = await findCandidates(context.db, key, window)
  // The newest Event is always a row, so no rows at all mean the beginning, or the sealed part of the log.
  const { reached, rows } =
    found.reached === null && before !== undefined ? await searchSealed(context, key, window) : found
  const matches: SessionMatch[] = []
  for (const { sequence, envelope } of rows) {
    const { type, createdAt, data } = JSON.parse(envelope) as { type: string; createdAt: string; data: unknown }
    const excerpt = findText(data, q)
    if (excerpt !== null) matches.push({ sequence, type, createdAt, excerpt })
    if (matches.length === MATCHES) return { matches, before: sequence > 1 ? sequence : null }
  }
  const oldest = rows.length === WINDOW.limit ? (rows.at(-1)?.sequence ?? null) : reached
  return { matches, before: oldest === null || oldest <= 1 ? null : oldest }
}
