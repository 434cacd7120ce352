import { UsageError } from '../failure.ts'
import type { AdminIo } from '../io.ts'
import { withServer } from '../server-module.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

interface Account {
  readonly id: string
  readonly installationId: string
  readonly host: string
  readonly account: string
  readonly accountLogin: string
  readonly whole: boolean
  readonly status: string
  readonly repositories: readonly { readonly grantId: string; readonly fullName: string; readonly status: string }[]
}

interface GrantsModule {
  addGrant(env: NodeJS.ProcessEnv, order: object): Promise<Account>
  readGrants(env: NodeJS.ProcessEnv, installationId?: string): Promise<readonly Account[]>
  revokeGrants(env: NodeJS.ProcessEnv, id: string): Promise<void>
  replaceGrant(env: NodeJS.ProcessEnv, id: string, byId: string): Promise<readonly string[]>
}

export interface GrantOptions {
  readonly organization?: string
  readonly account?: string
  readonly host?: string
  readonly repository?: readonly string[]
  readonly json?: boolean
}

const withGrants = <Result>(work: (module: GrantsModule) => Promise<Result>) =>
  withServer('@berth/server/admin-grants', work)

/**
 * Grants an installation or an organization an account of a Git host; the service asks the host first.
 * @throws UsageError unless exactly one of the two is named
 */
export async function addGrant(
  installationId: string | undefined,
  { repository = [], json, account, host, organization }: GrantOptions,
  { env, print }: AdminIo,
): Promise<void> {
  if ((installationId === undefined) === (organization === undefined)) {
    throw new UsageError('name either an installation or --organization')
  }
  const receiver = installationId === undefined ? { organizationId: organization } : { installationId }
  const named = { ...(account !== undefined && { account }), ...(host !== undefined && { host }) }
  const order = { ...receiver, repositories: repository, ...named }
  const granted = await withGrants(module => module.addGrant(env, order))
  for (const line of json ? [jsonLine(granted)] : accountLines(granted, false)) print(line)
}

/** Lists accounts with their granted repositories: the active ones, or with `all` every one. */
export async function listGrants(
  installationId: string | undefined,
  { all = false, json }: { readonly all?: boolean; readonly json?: boolean },
  { env, print }: AdminIo,
): Promise<void> {
  const accounts = await withGrants(({ readGrants }) => readGrants(env, installationId))
  for (const account of accounts.filter(({ status }) => all || status === 'active')) {
    for (const line of json ? [jsonLine(account)] : accountLines(account, all)) print(line)
  }
}

export async function revokeGrant(id: string, { env }: AdminIo): Promise<void> {
  await withGrants(({ revokeGrants }) => revokeGrants(env, id))
}

export async function replaceGrant(id: string, byId: string, { env, print }: AdminIo): Promise<void> {
  const replaced = await withGrants(module => module.replaceGrant(env, id, byId))
  for (const name of replaced) print(printableLine(`${name} continues under ${byId}`))
  if (replaced.length === 0) print('there was nothing to replace')
}

function accountLines(of: Account, all: boolean): string[] {
  const { id, installationId, host, account, accountLogin, whole, status } = of
  const what = `${host} ${account} ${accountLogin} (${whole ? 'all repositories' : 'these repositories'})`
  const shown = of.repositories.filter(repository => all || repository.status === 'active')
  return [
    `${id}  ${status.padEnd(8)}  ${what} for installation ${installationId}`,
    ...shown.map(repository => `  ${repository.grantId}  ${repository.status.padEnd(8)}  ${repository.fullName}`),
  ].map(printableLine)
}
