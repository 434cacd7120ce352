import { setTimeout as pause } from 'node:timers/promises'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { masterKeyOf } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../../context.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'
import type { HostPeople, PersonTokens } from '../../git-hosts/host-people.ts'
import { claimedRenewals, expireTokens, findHostPerson, type HostPersonRow } from './host-person-sql.ts'

/** Tokens are renewed so long before they end: work that begins with one must end before it does. */
const MARGIN_MS = 5 * 60_000
/** Longest that a renewal may take, and how often those look that wait for somebody else's. */
const RENEWAL_MS = 20_000
const POLL_MS = 200

/** The kept part of a person's tokens. */
type Kept = Pick<PersonTokens, 'access' | 'refresh'>

/** Returns tokens as a row keeps them. */
export function sealTokens(
  db: Queryable,
  id: string,
  { access, refresh, accessEndsAt }: PersonTokens,
): { readonly tokens: Buffer; readonly renewAt: Date | null } {
  const kept: Kept = { access, refresh }
  const renewAt = accessEndsAt === null ? null : new Date(accessEndsAt.getTime() - MARGIN_MS)
  return { tokens: masterKeyOf(db).seal(JSON.stringify(kept), placeOf(id)), renewAt }
}

/** Opens the tokens of a row. */
export function openTokens(db: Queryable, { id, tokens }: { readonly id: string; readonly tokens: Buffer }): Kept {
  return JSON.parse(masterKeyOf(db).open(tokens, placeOf(id)).toString())
}

/**
 * Works with a person's token, renewed if it is about to end. If the host refuses it, the connection has expired.
 * @throws ApiError 403 `cloud_github_connection_required` if the host takes the person's tokens no more
 * @throws GitHostError for other failures of the host
 */
export async function withPersonToken<T>(
  context: Pick<Context, 'db' | 'clock'>,
  people: HostPeople,
  row: HostPersonRow,
  work: (access: string) => Promise<T>,
): Promise<T> {
  const fresh = await renewed(context, people, row)
  if (fresh.tokens === null) throw refusal('cloud_github_connection_required')
  try {
    return await work(openTokens(context.db, { id: fresh.id, tokens: fresh.tokens }).access)
  } catch (error) {
    if (!(error instanceof GitHostError) || error.kind !== 'unauthorized') throw error
    await expireTokens(context.db, fresh)
    throw refusal('cloud_github_connection_required')
  }
}

/** Returns the row with tokens that last for a while, or with none. */
async function renewed(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  people: HostPeople,
  row: HostPersonRow,
): Promise<HostPersonRow> {
  const giveUpAt = clock.now().getTime() + RENEWAL_MS
  for (let known = row; ; ) {
    const now = clock.now()
    if (known.tokens === null || known.renew_at === null || known.renew_at > now) return known
    const until = new Date(now.getTime() + RENEWAL_MS)
    const [claimed] = await claimedRenewals.claim<{ tokens: Buffer }>(db, { now, until }, 1, [known.id])
    if (claimed !== undefined) await renew(db, people, claimed)
    else if (now.getTime() > giveUpAt) throw new GitHostError('unavailable', 'a renewal did not end')
    else await pause(POLL_MS)
    const found = await findHostPerson(db, known.person_id, { id: known.id })
    if (found === null) throw refusal('cloud_github_connection_required')
    // Tokens may be so short-lived that new ones are due again.
    if (claimed !== undefined) return found
    known = found
  }
}

async function renew(
  db: Queryable,
  people: HostPeople,
  { id, tokens, claim }: { readonly id: string; readonly tokens: Buffer; readonly claim: string },
): Promise<void> {
  const { refresh } = openTokens(db, { id, tokens })
  const release = (columns: Partial<HostPersonRow>) => claimedRenewals.release(db, claim, columns)
  try {
    const given = refresh === null ? null : await people.refresh(refresh, AbortSignal.timeout(RENEWAL_MS / 2))
    const sealed = given === null ? null : sealTokens(db, id, given)
    await release({ tokens: sealed?.tokens ?? null, renew_at: sealed?.renewAt ?? null })
  } catch (error) {
    const isRefused = error instanceof GitHostError && error.kind === 'unauthorized'
    await release(isRefused ? { tokens: null, renew_at: null } : {})
    if (!isRefused) throw error
  }
}

const placeOf = (id: string): string => `host-person/${id}`
