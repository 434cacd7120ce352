import type { GitAccount } from '@berth/contract'
import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { personEntry } from '@berth/core/accounts/audit/person-entry.ts'
import { findOwnInstallation, provideOwnInstallation } from '@berth/core/accounts/installations/own-installation.ts'
import type { Context } from '@berth/core/context.ts'
import { type GitHost, GitHostError } from '@berth/core/git-hosts/git-host.ts'
import type { HostPeople } from '@berth/core/git-hosts/host-people.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { connectAccount } from '@berth/core/repositories/connect-account.ts'
import { grantWhole } from '@berth/core/repositories/expand-grants.ts'
import { setPersonal } from '@berth/core/repositories/grant-sql.ts'
import { type GrantedAccount, listAccounts } from '@berth/core/repositories/granted-accounts.ts'
import { hostRefusal } from '@berth/core/repositories/host-refusal.ts'
import { findHostPerson, type HostPersonRow } from '@berth/core/repositories/people/host-person-sql.ts'
import { withPersonToken } from '@berth/core/repositories/people/person-tokens.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'

/** Longest that a host may take, in milliseconds: somebody waits for it. */
const ASKING_MS = 20_000

/** A person's own account at a host, and the host. */
interface Own {
  readonly row: HostPersonRow
  readonly host: GitHost
  readonly people: HostPeople
}

/**
 * Lists where the service's App is installed and the person has access, as the host says now.
 * @throws ApiError as `connectOwnAccount` does
 */
export async function listOwnAccounts(
  context: Context,
  person: PersonPrincipal,
  gitConnectionId: string,
): Promise<{ readonly accounts: GitAccount[]; readonly installUrl: string }> {
  const own = await requireOwn(context, person, gitConnectionId)
  const { db } = context
  const installationId = await findOwnInstallation(db, person.organizationId)
  const live = (await listAccounts(db, { organizationId: person.organizationId })).filter(
    account => account.status === 'active' && account.installationId === installationId && account.host === own.host.id,
  )
  const connected = new Set(live.map(({ account }) => account))
  const signal = AbortSignal.timeout(ASKING_MS)
  const [accounts, installUrl] = await askHost(signal, () =>
    withPersonToken(context, own.people, own.row, access =>
      Promise.all([own.people.listAccounts(access, signal), own.people.installUrl(signal)]),
    ),
  )
  return {
    accounts: accounts.map(({ account, login, kind, whole, administered }) => ({
      account,
      accountLogin: login,
      kind,
      repositories: whole ? 'all' : 'selected',
      administered,
      connected: connected.has(account),
    })),
    installUrl,
  }
}

/**
 * Connects the organization to an account, if the host says now that the person administers it. Ids of accounts are easy
 * to guess, and access alone proves nothing: a reader of one repository has it.
 * @throws ApiError 404 `connection_not_found` if the person has no such account
 * @throws ApiError 403 `cloud_github_connection_required` if it has expired
 * @throws ApiError 403 `cloud_repository_permission_denied` if they do not administer the account
 * @throws ApiError 503 `cloud_workspace_unavailable` if the host does not answer
 */
export async function connectOwnAccount(
  context: Context,
  { person, clientAddress }: { readonly person: PersonPrincipal; readonly clientAddress: string },
  gitConnectionId: string,
  wanted: { readonly account: string; readonly personalAccess?: boolean },
): Promise<GrantedAccount> {
  const { db, clock } = context
  const { organizationId } = person
  const own = await requireOwn(context, person, gitConnectionId)
  const signal = AbortSignal.timeout(ASKING_MS)
  const accounts = await askHost(signal, () =>
    withPersonToken(context, own.people, own.row, access => own.people.listAccounts(access, signal)),
  )
  const proven = accounts.find(({ account, administered }) => account === wanted.account && administered)
  if (proven === undefined) throw refusal('cloud_repository_permission_denied')
  const { connection, installationId } = await db.transaction(async tx => {
    const installation = await provideOwnInstallation({ db: tx, clock }, organizationId)
    const grantee = { organizationId, installationId: installation.id }
    const to = { host: own.host.id, provider: own.host.kind, account: proven.account, accountLogin: proven.login }
    const made = await connectAccount({ db: tx, clock }, grantee, to, true)
    if (wanted.personalAccess !== undefined) await setPersonal(tx, made.id, wanted.personalAccess)
    const details = { host: own.host.id, account: proven.account, login: proven.login, provenBy: own.row.login }
    const audited = { target: `connection ${made.id}`, details }
    await appendAudit(tx, personEntry(person, clientAddress, 'connection.added', audited), clock.now())
    return { connection: made, installationId: installation.id }
  })
  await grantWhole(context, { organizationId, installationId })
  const [shown] = await listAccounts(db, { id: connection.id })
  if (shown === undefined) throw new Error('a connection was added that is not there')
  return shown
}

async function requireOwn(context: Context, { id }: PersonPrincipal, gitConnectionId: string): Promise<Own> {
  const row = await findHostPerson(context.db, id, { id: gitConnectionId })
  if (row === null) throw refusal('connection_not_found')
  const host = context.gitHosts.find(row.host)
  // An operator has taken the host away, or its client.
  if (host?.people === undefined) throw refusal('cloud_github_connection_required')
  return { row, host, people: host.people }
}

async function askHost<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof GitHostError) throw hostRefusal(error)
    if (signal.aborted) throw refusal('cloud_workspace_unavailable')
    throw error
  }
}
