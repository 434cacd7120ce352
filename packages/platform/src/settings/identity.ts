import { StartError } from '../kit/start-error.ts'
import type { Environment } from './environment.ts'
import type { Fixed } from './fixed.ts'
import type { Role } from './roles.ts'
import { isLoopback, parseWebUrl } from './web-url.ts'

/** An account service with a database of its own, at which this process judges credentials. */
export interface FarIdentity {
  readonly url: string
  readonly secret: string
  /** Longest time for one verdict. */
  readonly timeoutMs: number
  /** How the console of this deployment names itself there; absent: this deployment has no console. */
  readonly console: { readonly clientId: string; readonly clientSecret: string } | undefined
}

/** Where credentials are judged. */
export interface IdentitySettings {
  /** Absent: in the database of this process. */
  readonly far: FarIdentity | undefined
  /** The secret with which other deployments ask this account service; absent: none may. */
  readonly secret: string | undefined
}

/** Visible ASCII, which a header can carry. */
const parseSecret = (text: string): string | undefined => (/^[\x21-\x7e]{32,512}$/.test(text) ? text : undefined)

/** @throws StartError if a deployment has an account service and names another */
export function readIdentity(
  env: Environment,
  {
    roles,
    production,
    fixed,
  }: { readonly roles: ReadonlySet<Role>; readonly production: boolean; readonly fixed: Fixed },
): IdentitySettings {
  const url = env.parsed(
    'BERTH_IDENTITY_URL',
    'URL of an account service with another database. This process then asks it about every credential ([operations](operations.md#run-the-account-service-apart)). Set it if several deployments share their accounts.',
    'credentials are judged in the own database',
    parseWebUrl,
    'an http or https URL without query',
  )
  const secret = env.parsed(
    'BERTH_IDENTITY_SECRET',
    'Secret between an API and an account service with another database: 32 characters or more, the same on both sides. Set it with `BERTH_IDENTITY_URL`, and on the account service.',
    'none: the account service answers no other deployment',
    parseSecret,
    'at least 32 visible ASCII characters',
  )
  const clientId = env.parsed(
    'BERTH_CONSOLE_CLIENT',
    'Id of the client with which the account service at `BERTH_IDENTITY_URL` knows the console of this deployment ([operations](operations.md#run-the-account-service-apart)). Set it with `BERTH_IDENTITY_URL` to have a console.',
    'none: with `BERTH_IDENTITY_URL`, this deployment has no console',
    text => (/^[a-z][a-z0-9-]{1,62}$/.test(text) ? text : undefined),
    'the id of a client of firstPartyClients',
  )
  const clientSecret = env.parsed(
    'BERTH_CONSOLE_CLIENT_SECRET',
    'Secret of that client. Set it with `BERTH_CONSOLE_CLIENT`.',
    'none',
    parseSecret,
    'at least 32 visible ASCII characters',
  )
  if ((clientId === undefined) !== (clientSecret === undefined)) {
    throw new StartError('BERTH_CONSOLE_CLIENT and BERTH_CONSOLE_CLIENT_SECRET need one another')
  }
  if (url === undefined && clientId !== undefined) throw new StartError('BERTH_CONSOLE_CLIENT needs BERTH_IDENTITY_URL')
  if (url === undefined) return { far: undefined, secret }
  if (roles.has('account')) {
    throw new StartError(
      'BERTH_IDENTITY_URL names another account service, so this process cannot have the role account: name its roles in BERTH_ROLES',
    )
  }
  if (secret === undefined) throw new StartError('BERTH_IDENTITY_URL needs BERTH_IDENTITY_SECRET')
  if (production && !url.startsWith('https://') && !isLoopback(new URL(url).hostname)) {
    throw new StartError('BERTH_IDENTITY_URL must be an https URL when NODE_ENV is production')
  }
  const console = clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret }
  return { far: { url, secret, timeoutMs: fixed.identityMs, console }, secret }
}
