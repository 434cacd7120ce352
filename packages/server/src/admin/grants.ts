import { appendAudit, operator } from '@berth/core/accounts/audit/append.ts'
import { provideOwnInstallation } from '@berth/core/accounts/installations/own-installation.ts'
import { type GitHost, GitHostError } from '@berth/core/git-hosts/git-host.ts'
import type { GitHosts } from '@berth/core/git-hosts/git-hosts.ts'
import { LOCAL_ACCOUNT, LOCAL_HOST } from '@berth/core/git-hosts/local/local-host.ts'
import { openGitHosts } from '@berth/core/git-hosts/open-git-hosts.ts'
import { endGrants, findNamed, replaceGrants } from '@berth/core/repositories/end-grants.ts'
import { grantAccount } from '@berth/core/repositories/grant-account.ts'
import type { Grantee } from '@berth/core/repositories/grant-sql.ts'
import { type GrantedAccount, listAccounts } from '@berth/core/repositories/granted-accounts.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { type Variables, withDatabase } from './database.ts'

/** Whom a grant is for: an installation, or an organization itself, whose people then work on the repositories. */
type Receiver = { readonly installationId: string } | { readonly organizationId: string }

/** The grant that somebody is to get. */
export type GrantOrder = Receiver & {
  /** Id of a host; by default the only one that the configuration names. */
  readonly host?: string
  /** On a GitHub host, the id of the App's installation there. */
  readonly account?: string
  /** `owner/name` each; empty for all that the account reaches, now and later. */
  readonly repositories: readonly string[]
}

/**
 * Grants an installation or an organization an account of a Git host, or repositories of it. Idempotent.
 *
 * @returns the account with everything that it grants
 * @throws StartError in one line, for an operator to correct
 */
export function addGrant(variables: Variables, order: GrantOrder): Promise<GrantedAccount> {
  return withDatabase(variables, async (db, { dataDir, urls, config }, clock) => {
    const grantee = await granteeOf({ db, clock }, order)
    await using stack = new AsyncDisposableStack()
    const deployment = { db, clock, dataDir, consoleUrl: () => urls.consoleUrl }
    const host = hostOf(openGitHosts(deployment, config.gitHosts, stack), order)
    const account = order.account ?? (host.id === LOCAL_HOST ? LOCAL_ACCOUNT : undefined)
    if (account === undefined)
      throw new StartError(`${host.id}: name the account, the id of the App's installation there`)
    try {
      const id = await grantAccount({ db, clock }, grantee, host, { account, names: order.repositories })
      const [granted] = await listAccounts(db, { id })
      if (granted === undefined) throw new Error('an account was neither granted nor found')
      await record(db, clock, granted, 'repository_grant.added', { repositories: order.repositories.slice(0, 100) })
      return granted
    } catch (error) {
      throw error instanceof GitHostError ? refused(error, host, account) : error
    }
  })
}

/**
 * Lists every account with its grants, ended ones too.
 *
 * @throws StartError
 */
export function readGrants(variables: Variables, installationId?: string): Promise<GrantedAccount[]> {
  return withDatabase(variables, async (db, _, clock) =>
    listAccounts(db, installationId === undefined ? {} : await granteeOf({ db, clock }, { installationId })),
  )
}

/**
 * Ends an account or a grant by its id. Idempotent.
 *
 * @throws StartError in one line, for an operator to correct
 */
export async function revokeGrants(variables: Variables, id: string): Promise<void> {
  requireIds(id)
  return withDatabase(variables, async (db, _, clock) => {
    const { account } = await findNamed(db, id)
    await endGrants({ db, clock }, id)
    await record(db, clock, account, 'repository_grant.revoked', { id })
  })
}

/**
 * Replaces a grant by another, or an account by another. Idempotent.
 *
 * @returns the names of the repositories that were moved
 * @throws StartError in one line, for an operator to correct
 */
export async function replaceGrant(variables: Variables, id: string, byId: string): Promise<string[]> {
  requireIds(id, byId)
  return withDatabase(variables, async (db, _, clock) => {
    const moved = await replaceGrants({ db, clock }, id, byId)
    await record(db, clock, (await findNamed(db, byId)).account, 'repository_grant.replaced', { id, byId })
    return moved
  })
}

/** Records an operator's change of the grants of an account. The host may be asked in between, so it comes after. */
function record(
  db: Database,
  clock: Clock,
  { organizationId, installationId, host, account }: GrantedAccount,
  action: string,
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  const about = { target: `installation ${installationId}`, details: { host, account, ...details } }
  return appendAudit(db, { organizationId, actor: operator, outcome: 'done', action, ...about }, clock.now())
}

function requireIds(...ids: string[]): void {
  for (const id of ids) if (!isUuid(id)) throw new StartError(`${id} is no id; berth admin grant list shows them`)
}

/** Finds the installation that holds the grants; an organization's own is made at its first use. */
async function granteeOf(context: { readonly db: Database; readonly clock: Clock }, of: Receiver): Promise<Grantee> {
  const { db } = context
  if ('organizationId' in of) {
    const { organizationId } = of
    const text = 'select 1 from organizations where id = $1'
    if (!isUuid(organizationId) || (await db.query({ text, values: [organizationId] })).rows.length === 0) {
      throw new StartError(`there is no organization ${organizationId}; berth admin organization list shows them`)
    }
    return {
      organizationId,
      installationId: (await provideOwnInstallation(context, organizationId)).id,
    }
  }
  const { installationId } = of
  const text = 'select organization_id from installations where id = $1 and revoked_at is null'
  const { rows } = isUuid(installationId)
    ? await db.query<{ organization_id: string }>({ text, values: [installationId] })
    : { rows: [] }
  const [found] = rows
  if (found === undefined) throw new StartError(`there is no installation ${installationId}`)
  return { organizationId: found.organization_id, installationId }
}

function hostOf(hosts: GitHosts, { host: wanted }: GrantOrder): GitHost {
  const remote = hosts.ids.filter(id => id !== LOCAL_HOST)
  const id = wanted ?? (remote.length === 1 ? remote[0] : undefined)
  if (id === undefined) throw new StartError(`name the host: ${hosts.ids.join(' or ')}`)
  const host = hosts.find(id)
  if (host === null) throw new StartError(`there is no host ${id}; the configuration has ${hosts.ids.join(', ')}`)
  return host
}

/** Translates a host's refusal for the operator who named the account. */
function refused(error: GitHostError, { id }: GitHost, account: string): StartError {
  const sentences: Partial<Record<GitHostError['kind'], string>> = {
    not_found: `it knows no account ${account} of this App`,
    unauthorized: 'it does not take the appId and privateKey of the configuration',
    forbidden: 'it refuses the App',
    rate_limited: 'it wants to be left alone for a while; try again later',
    unavailable: 'it does not answer; try again later',
  }
  return new StartError(`${id}: ${sentences[error.kind] ?? error.message}`, { cause: error })
}
