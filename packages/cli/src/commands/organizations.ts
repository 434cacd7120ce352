import { UsageError } from '../failure.ts'
import type { AdminIo } from '../io.ts'
import { withServer } from '../server-module.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

interface Organization {
  readonly id: string
  readonly name: string
  readonly suspendedAt: Date | null
  readonly cloudAccess: boolean
  readonly rate: { readonly burst: number; readonly perMinute: number } | null
  readonly members: number
}

interface OrganizationsModule {
  createOrganization(env: NodeJS.ProcessEnv, name: string): Promise<{ readonly id: string }>
  readOrganizations(env: NodeJS.ProcessEnv): Promise<readonly Organization[]>
  setOrganization(env: NodeJS.ProcessEnv, id: string, change: object): Promise<void>
}

interface JsonOption {
  readonly json?: boolean
}

const withOrganizations = <Result>(work: (module: OrganizationsModule) => Promise<Result>) =>
  withServer('@berth/server/admin-organizations', work)

/** Makes an organization and prints its id. */
export async function createOrganization(name: string, { json }: JsonOption, { env, print }: AdminIo): Promise<void> {
  const made = await withOrganizations(module => module.createOrganization(env, name))
  print(json ? jsonLine(made) : made.id)
}

/** Lists organizations, one a line. */
export async function listOrganizations({ json }: JsonOption, { env, print }: AdminIo): Promise<void> {
  for (const organization of await withOrganizations(module => module.readOrganizations(env))) {
    print(json ? jsonLine(organization) : organizationLine(organization))
  }
}

/** Suspends or resumes an organization, or changes its product access. */
export async function change(
  id: string,
  changed: { readonly suspended: boolean } | { readonly cloudAccess: boolean },
  { json }: JsonOption,
  { env, print }: AdminIo,
): Promise<void> {
  await withOrganizations(module => module.setOrganization(env, id, changed))
  if (json) print(jsonLine({ id, ...changed }))
}

/** Sets the rate of an organization, or returns it to the deployment's. */
export async function setRate(
  id: string,
  options: JsonOption & { readonly burst?: number; readonly perMinute?: number; readonly default?: boolean },
  { env, print }: AdminIo,
): Promise<void> {
  const { burst, perMinute, json } = options
  const named = burst !== undefined && perMinute !== undefined ? { burst, perMinute } : null
  const isDefault = options.default === true && burst === undefined && perMinute === undefined
  if (named === null && !isDefault) throw new UsageError('name --burst and --per-minute, or --default alone')
  await withOrganizations(module => module.setOrganization(env, id, { rate: named }))
  if (json) print(jsonLine({ id, rate: named }))
}

function organizationLine({ id, name, suspendedAt, cloudAccess, rate, members }: Organization): string {
  const state = suspendedAt === null ? (cloudAccess ? 'active' : 'no access') : 'suspended'
  const own = rate === null ? '' : `, ${rate.burst} at once and ${rate.perMinute} a minute`
  return printableLine(
    `${id}  ${state.padEnd(9)}  ${name} (${members === 1 ? '1 member' : `${members} members`}${own})`,
  )
}
