import type { AccountTokens } from '@berth/core/git-hosts/git-host.ts'
import type { SessionAccount } from '@berth/core/repositories/session-accounts.ts'

/** What a program in a sandbox asks a credential for. */
export interface CredentialQuestion {
  /** Origin of the host, such as `https://github.com`; null if the program leaves the host open. */
  readonly origin: string | null
  /** Owner of the repository; null if the program names none. */
  readonly owner: string | null
}

/** An account and its host's tokens. */
export interface TokenAccount extends SessionAccount {
  readonly tokens: AccountTokens
}

/** Why a request got no token, in words for the people and agents who read a terminal. */
export class CredentialRefusal extends Error {
  override readonly name = 'CredentialRefusal'
  /** Status of the proxy's answer; 404 means that another helper may know the host. */
  readonly status: 403 | 404 | 503

  constructor(status: CredentialRefusal['status'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/**
 * Reads the attributes of git's credential protocol, a line each, and `owner`, by which programs other than git ask.
 * Unknown attributes mean nothing.
 */
export function readQuestion(body: string): CredentialQuestion {
  const attributes = new Map(body.split('\n').map(line => [line.split('=', 1)[0] ?? '', line.replace(/^[^=]*=/, '')]))
  const [protocol, host] = [attributes.get('protocol'), attributes.get('host')]
  const owner = attributes.get('owner') ?? attributes.get('path')?.split('/')[0] ?? ''
  return {
    origin: protocol === undefined || host === undefined ? null : `${protocol}://${host}`.toLowerCase(),
    owner: owner === '' ? null : owner,
  }
}

/**
 * Returns the account whose token answers the question.
 * @param accounts those that the Session may use
 * @throws CredentialRefusal that names the owners that would do
 */
export function chooseAccount(question: CredentialQuestion, accounts: readonly TokenAccount[]): TokenAccount {
  const { origin, owner } = question
  const onHost = accounts.filter(({ tokens }) => origin === null || originOf(tokens) === origin)
  const [first, ...others] = owner === null ? onHost : onHost.filter(account => belongsTo(account, owner))
  if (first !== undefined && (owner !== null || others.length === 0)) return first
  const known = [...new Set(onHost.map(({ login }) => login))].join(', ')
  if (owner === null) throw new CredentialRefusal(403, `name an owner: several accounts are connected (${known})`)
  throw new CredentialRefusal(
    403,
    `no account of ${owner} is connected for this session; connected: ${known || 'none'}`,
  )
}

/** An account keeps its repositories if it is renamed, so the names of those count beside its login. */
function belongsTo({ login, repositories }: SessionAccount, owner: string): boolean {
  const named = owner.toLowerCase()
  return (
    login.toLowerCase() === named || repositories.some(({ fullName }) => fullName.toLowerCase().startsWith(`${named}/`))
  )
}

export const originOf = ({ webUrl }: AccountTokens): string => new URL(webUrl).origin
