import type { AdminIo } from '../io.ts'
import { withServer } from '../server-module.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

interface LinkToHandOver {
  readonly url: string
  readonly expiresAt: Date
}

interface Member {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly role: string
  readonly permissions: readonly string[]
  readonly disabled: boolean
}

interface PeopleModule {
  bootstrapDeployment(env: NodeJS.ProcessEnv, first: object): Promise<LinkToHandOver & { organizationId: string }>
  invitePerson(env: NodeJS.ProcessEnv, invited: object): Promise<LinkToHandOver>
  setPersonEnabled(env: NodeJS.ProcessEnv, email: string, enabled: boolean): Promise<void>
  issuePersonReset(env: NodeJS.ProcessEnv, email: string, forgetSecondFactor: boolean): Promise<LinkToHandOver>
  readMembers(env: NodeJS.ProcessEnv, organizationId: string): Promise<readonly Member[]>
  setMember(env: NodeJS.ProcessEnv, membershipId: string, change: object): Promise<Member>
  endMember(env: NodeJS.ProcessEnv, membershipId: string): Promise<void>
}

interface JsonOption {
  readonly json?: boolean
}

const withPeople = <Result>(work: (module: PeopleModule) => Promise<Result>) =>
  withServer('@berth/server/admin-people', work)

/** Makes the first administrator of an empty deployment, and prints the link by which they choose a password. */
export async function bootstrap(
  { json, ...first }: JsonOption & { readonly email: string; readonly organization: string; readonly name?: string },
  { env, print }: AdminIo,
): Promise<void> {
  const made = await withPeople(module => module.bootstrapDeployment(env, first))
  if (json) return print(jsonLine(made))
  print(printableLine(`made the organization ${first.organization}, ${made.organizationId}`))
  printLink(made, print)
}

/** Prints a link by which a person joins an organization. */
export async function invite(
  organizationId: string,
  email: string,
  { json, role, permission }: JsonOption & { readonly role: string; readonly permission: readonly string[] },
  { env, print }: AdminIo,
): Promise<void> {
  const invited = { organizationId, email, role, permissions: permission }
  const link = await withPeople(module => module.invitePerson(env, invited))
  if (json) print(jsonLine(link))
  else printLink(link, print)
}

/** Disables a person, or enables them again. */
export async function setEnabled(
  email: string,
  enabled: boolean,
  { json }: JsonOption,
  { env, print }: AdminIo,
): Promise<void> {
  await withPeople(module => module.setPersonEnabled(env, email, enabled))
  if (json) print(jsonLine({ email, enabled }))
}

/** Prints a link by which a person chooses a new password. */
export async function reset(
  email: string,
  { json, secondFactor = false }: JsonOption & { readonly secondFactor?: boolean },
  { env, print }: AdminIo,
): Promise<void> {
  const link = await withPeople(module => module.issuePersonReset(env, email, secondFactor))
  if (json) print(jsonLine(link))
  else printLink(link, print)
}

/** Lists the members of an organization, one a line. */
export async function listMembers(
  organizationId: string,
  { json }: JsonOption,
  { env, print }: AdminIo,
): Promise<void> {
  for (const member of await withPeople(module => module.readMembers(env, organizationId))) {
    print(json ? jsonLine(member) : memberLine(member))
  }
}

/** Changes the role or the permissions of a member, and prints the member. */
export async function changeMember(
  membershipId: string,
  change: { readonly role?: string; readonly permissions?: readonly string[] },
  { json }: JsonOption,
  { env, print }: AdminIo,
): Promise<void> {
  const member = await withPeople(module => module.setMember(env, membershipId, change))
  print(json ? jsonLine(member) : memberLine(member))
}

/** Ends a membership. */
export async function removeMember(membershipId: string, { json }: JsonOption, { env, print }: AdminIo): Promise<void> {
  await withPeople(module => module.endMember(env, membershipId))
  if (json) print(jsonLine({ id: membershipId, removed: true }))
}

function printLink({ url, expiresAt }: LinkToHandOver, print: AdminIo['print']): void {
  print(`hand over this link; it works once, until ${expiresAt.toISOString()}:`)
  print(url)
}

function memberLine({ id, name, email, role, permissions, disabled }: Member): string {
  const held = permissions.length === 0 ? '' : `  ${permissions.join(' ')}`
  return printableLine(`${id}  ${role.padEnd(6)}  ${name} <${email}>${disabled ? ' (disabled)' : ''}${held}`)
}
