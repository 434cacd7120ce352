import { createClient } from '@berth/client'
import { findLocalUrl } from '../connection.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { isHttpUrl } from '../http-url.ts'
import { onInterrupt } from '../interrupts.ts'
import type { SignInIo } from '../io.ts'
import { nameFor, type Profile, requireProfileName, type Tokens } from '../profiles/profile.ts'
import { AccountRefusal, AccountService, type DeviceCode } from '../sign-in/account-service.ts'
import { browserSignIn } from '../sign-in/browser-sign-in.ts'
import { deviceSignIn } from '../sign-in/device-sign-in.ts'
import { findIssuer } from '../sign-in/find-issuer.ts'
import { openBrowser } from '../sign-in/open-browser.ts'
import { printableLine } from '../terminal-text.ts'
import { printFacts } from './facts.ts'
import { revoke } from './logout.ts'

export interface LoginOptions {
  readonly url?: string
  readonly profile?: string
  readonly authUrl?: string
  readonly device?: boolean
  readonly organization?: string
}

/** Where to sign in. */
interface Target {
  readonly url: string
  readonly issuer: string
  readonly organization: string | undefined
}

/** Signs a person in, and makes the sign-in the current profile. */
export async function login(options: LoginOptions, io: SignInIo): Promise<ExitCode> {
  const { platform, stdout, stderr, env } = io
  if (options.profile !== undefined) requireProfileName(options.profile)
  const target = await findTarget(options, io)
  const leave = new AbortController()
  using _interrupts = onInterrupt(() => leave.abort())
  const service = await AccountService.find(target.issuer, platform)
  const request = { service, organization: target.organization, platform, signal: leave.signal }
  let tokens: Tokens
  try {
    tokens = await (options.device
      ? deviceSignIn({ ...request, show: code => showCode(code, target, io) })
      : browserSignIn({ ...request, show: address => showAddress(address, target, io) }))
  } catch (failure) {
    if (leave.signal.aborted) {
      await stderr.line('berth: the sign-in was cancelled')
      return exitCode.cancelled
    }
    if (!(failure instanceof AccountRefusal) || failure.code !== 'access_denied') throw failure
    throw new Error('you were not signed in: the request was declined, or you are in no organization that it is for')
  }
  const { name, profile } = await keep(target, tokens, options.profile, io)
  await stdout.line(
    `\nSigned in as ${stdout.paint('bold', printableLine(profile.person.name))} <${printableLine(profile.person.email)}>\n`,
  )
  const facts = [
    ['Organization', profile.organization.name],
    ['Deployment', profile.url],
    ['Profile', `${name}, now the current one`],
  ] as const
  await printFacts(facts, stdout)
  if (env.BERTH_API_KEY) await stderr.line('berth: BERTH_API_KEY is set, so commands use that key all the same')
  return exitCode.completed
}

/** Finds the deployment: the one named, or else that of the profile named, of the current one, or the local service. */
async function findTarget(options: LoginOptions, { store, env, platform }: SignInIo): Promise<Target> {
  const named = options.url ?? (env.BERTH_URL || undefined)
  const current = store.current()
  const name = options.profile ?? (env.BERTH_PROFILE || current)
  const again = named === undefined && name !== null ? store.read(name) : null
  // A profile of a new name is of the deployment that the person uses now, in any organization.
  const stored = current === null ? null : store.readWhole(current)
  const url = named ?? again?.url ?? stored?.url ?? findLocalUrl(env)
  if (url === null) throw new UsageError('no service to sign in to: name it with --url or BERTH_URL')
  if (!isHttpUrl(url)) throw new UsageError(`${url} is not an http or https URL`)
  return {
    url: url.replace(/\/+$/, ''),
    issuer: await findIssuer(url, options.authUrl, platform),
    organization: options.organization ?? again?.organization.id,
  }
}

async function showAddress(address: string, { url }: Target, { env, stdout }: SignInIo): Promise<void> {
  const opened = openBrowser(address, env)
  const how = opened ? 'in the browser that opens now, or open this address' : 'by opening this address in a browser'
  await stdout.line(`Sign in to ${stdout.paint('bold', printableLine(url))} ${how}:\n\n  ${printableLine(address)}\n`)
  await stdout.line(
    stdout.paint(
      'dim',
      'Waiting for the browser. Ctrl-C cancels. If it runs on another machine, use berth login --device.',
    ),
  )
}

async function showCode(code: DeviceCode, { url }: Target, { stdout }: SignInIo): Promise<void> {
  const minutes = Math.round(code.expiresInMs / 60_000)
  await stdout.line(
    `To sign in to ${stdout.paint('bold', printableLine(url))}, open this address in a browser on any machine:

  ${printableLine(code.address)}

and enter this code:

  ${stdout.paint('bold', printableLine(code.userCode))}
`,
  )
  await stdout.line(stdout.paint('dim', `Waiting for you. The code is good for ${minutes} minutes. Ctrl-C cancels.`))
}

/** Keeps a sign-in as the current profile, in place of an earlier one of that name, which it ends. */
async function keep(
  { url, issuer }: Target,
  tokens: Tokens,
  named: string | undefined,
  { store, platform }: SignInIo,
): Promise<{ readonly name: string; readonly profile: Profile }> {
  const { user, organization } = await createClient({ baseUrl: url, credential: tokens.access, platform }).call('getMe')
  const same = store.ofDeployment(url).find(({ profile }) => profile.organization.id === organization.id)
  const taken = new Set(store.names())
  const name = named ?? same?.name ?? nameFor(organization.name, candidate => taken.has(candidate))
  const profile: Profile = {
    url,
    issuer,
    person: { id: user.id, name: user.name, email: user.email },
    organization: { id: organization.id, name: organization.name },
    tokens,
  }
  const replaced = await replace(name, profile, store, platform)
  // The earlier sign-in is out of reach now. If its service does not answer, it ends when nobody uses it any more.
  if (replaced !== null) await revoke(replaced, platform)
  return { name, profile }
}

/** Writes a profile, makes it the current one, and returns the one that it replaced. */
async function replace(
  name: string,
  profile: Profile,
  store: SignInIo['store'],
  platform: SignInIo['platform'],
): Promise<Profile | null> {
  using _lock = await store.lock(name, platform)
  const replaced = store.readWhole(name)
  store.write(name, profile)
  store.choose(name)
  return replaced
}
