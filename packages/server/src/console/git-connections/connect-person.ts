import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { GitConnection, GitConnectionMade } from '@berth/contract'
import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { personEntry } from '@berth/core/accounts/audit/person-entry.ts'
import type { Context } from '@berth/core/context.ts'
import { GitHostError } from '@berth/core/git-hosts/git-host.ts'
import type { HostPeople } from '@berth/core/git-hosts/host-people.ts'
import type { BrowserSession } from '@berth/core/identity/guard/browser-authority.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { hostRefusal } from '@berth/core/repositories/host-refusal.ts'
import { type HostPersonRow, putHostPerson } from '@berth/core/repositories/people/host-person-sql.ts'
import { openTokens, sealTokens } from '@berth/core/repositories/people/person-tokens.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { credentialDigest, masterKeyOf } from '@berth/platform/storage/master-key.ts'
import { returnPath } from '../sign-in/return-path.ts'
import { holdsSignIn, insertBegun, takeBegun } from './begun-sql.ts'

/** How long somebody has at the host. */
const BEGUN_MS = 10 * 60_000

/** The person who connects an account, at the browser that they sit at. */
export interface Connecting {
  readonly person: PersonPrincipal
  readonly browser: BrowserSession | null
  readonly clientAddress: string
}

/**
 * Begins to connect an account at a host, for this browser alone.
 * @returns where the browser goes
 * @throws ApiError 401 `sign_in_required` for a bearer, which comes back to no page
 * @throws ApiError 404 `git_host_not_found`
 */
export async function beginConnection(
  context: Context,
  { browser }: Pick<Connecting, 'browser'>,
  request: { readonly host: string; readonly returnTo?: string | undefined },
): Promise<string> {
  const { db, clock } = context
  if (browser === null) throw refusal('sign_in_required')
  const { people } = hostWithPeople(context, request.host)
  const [state, verifier] = [secret(), secret()]
  const stateDigest = credentialDigest(state)
  await insertBegun(db, {
    stateDigest,
    browserSessionId: browser.id,
    host: request.host,
    verifier: masterKeyOf(db).seal(verifier, placeOf(stateDigest)),
    returnTo: returnPath(request.returnTo ?? '/settings/git'),
    endsAt: new Date(clock.now().getTime() + BEGUN_MS),
  })
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return people.authorizeUrl({ state, challenge, redirectUri: redirectUri(context) })
}

/**
 * Finishes the connection that this browser has begun, once. The account takes the place of one that the person had at the host.
 * @throws ApiError 400 `git_connection_refused` if the browser began no such thing, or the host does not take the code
 * @throws ApiError 503 `cloud_workspace_unavailable` if the host does not answer
 */
export async function finishConnection(
  context: Context,
  { person, browser, clientAddress }: Connecting,
  { state, code }: { readonly state: string; readonly code: string },
): Promise<GitConnectionMade> {
  const { db, clock } = context
  if (browser === null) throw refusal('sign_in_required')
  const stateDigest = credentialDigest(state)
  const begun = await takeBegun(db, { stateDigest, browserSessionId: browser.id, now: clock.now() })
  if (begun === null) throw refusal('git_connection_refused')
  const { people, provider } = hostWithPeople(context, begun.host)
  const id = randomUUID()
  const verifier = masterKeyOf(db).open(begun.verifier, placeOf(stateDigest)).toString()
  const answer = { code, verifier, redirectUri: redirectUri(context) }
  const { tokens, who } = await redeem(people, answer).catch(error => {
    if (!(error instanceof GitHostError)) throw error
    throw error.kind === 'unauthorized' ? refusal('git_connection_refused') : hostRefusal(error)
  })
  const row: HostPersonRow = {
    id,
    person_id: person.id,
    host: begun.host,
    provider,
    account: who.id,
    login: who.login,
    ...keptOf(sealTokens(db, id, tokens)),
    created_at: clock.now(),
  }
  const replaced = await db.transaction(async tx => {
    if (!(await holdsSignIn(tx, browser.signInId))) throw refusal('sign_in_required')
    const before = await putHostPerson(tx, row)
    const audited = { target: `git account ${id}`, details: { host: row.host, login: row.login } }
    await appendAudit(tx, personEntry(person, clientAddress, 'git_account.connected', audited), clock.now())
    return before
  })
  await revokeTokens(context, replaced)
  return { connection: toGitConnection(row), returnTo: begun.returnTo }
}

/** Makes the host refuse the tokens of a connection that is gone. The service has none of them any more in any case. */
export async function revokeTokens(
  { db, gitHosts, log }: Pick<Context, 'db' | 'gitHosts' | 'log'>,
  row: Pick<HostPersonRow, 'id' | 'host' | 'tokens'> | null,
): Promise<void> {
  const people = row === null ? undefined : gitHosts.find(row.host)?.people
  if (row?.tokens == null || people === undefined) return
  try {
    await people.revoke(openTokens(db, { id: row.id, tokens: row.tokens }).access)
  } catch (error) {
    log.warn({ err: error, host: row.host }, "could not revoke a person's token at a Git host")
  }
}

/** Returns a person's account as the API shows it. */
export function toGitConnection({ id, host, provider, login, tokens, created_at }: HostPersonRow): GitConnection {
  const status = tokens === null ? 'expired' : 'active'
  return { id, host, provider, login, status, createdAt: created_at.toISOString() }
}

async function redeem(people: HostPeople, answer: Parameters<HostPeople['redeem']>[0]) {
  const tokens = await people.redeem(answer)
  return { tokens, who: await people.readPerson(tokens.access) }
}

function hostWithPeople({ gitHosts }: Pick<Context, 'gitHosts'>, id: string) {
  const host = gitHosts.withPeople.find(one => one.id === id)
  if (host === undefined) throw refusal('git_host_not_found')
  return { people: host.people, provider: host.kind }
}

const keptOf = ({ tokens, renewAt }: ReturnType<typeof sealTokens>) => ({ tokens, renew_at: renewAt })

const secret = (): string => randomBytes(32).toString('base64url')

const placeOf = (stateDigest: Buffer): string => `host-people-begun/${stateDigest.toString('hex')}`

const redirectUri = ({ consoleUrl }: Pick<Context, 'consoleUrl'>): string =>
  `${consoleUrl.replace(/\/$/, '')}/cloud/git-connections/callback`
