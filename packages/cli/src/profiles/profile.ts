import { UsageError } from '../failure.ts'
import { isHttpUrl } from '../http-url.ts'

/** The tokens of one sign-in. */
export interface Tokens {
  readonly access: string
  readonly refresh: string
  /** When the access token ends, by this machine's clock; milliseconds since the epoch. */
  readonly expiresAt: number
}

/** A person's sign-in to one organization of one deployment. */
export interface Profile {
  readonly url: string
  /** OpenID issuer: the account service that the tokens come from. */
  readonly issuer: string
  readonly person: { readonly id: string; readonly name: string; readonly email: string }
  readonly organization: { readonly id: string; readonly name: string }
  /** Null once the service has refused to renew them. */
  readonly tokens: Tokens | null
}

const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** @throws UsageError if a name cannot be a file's name */
export function requireProfileName(name: string): string {
  if (namePattern.test(name)) return name
  throw new UsageError(
    `${JSON.stringify(name)} cannot name a profile: use small letters, digits, dots, hyphens and underscores, at most 64`,
  )
}

/** Returns a name for the profile of an organization: its own name where that fits, and a number after a taken one. */
export function nameFor(organization: string, taken: (name: string) => boolean): string {
  const plain = organization
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 40)
    .replace(/-+$/, '')
  const base = plain === '' ? 'default' : plain
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`
    if (!taken(name)) return name
  }
}

/** Parses a profile; returns null if the text is not one. */
export function parseProfile(text: string): Profile | null {
  const { url, issuer, person, organization, tokens } = parseObject(text)
  const who = Object(person)
  const where = Object(organization)
  const strings = [url, issuer, who.id, who.name, who.email, where.id, where.name]
  if (!strings.every(value => typeof value === 'string') || !isHttpUrl(url) || !isHttpUrl(issuer)) return null
  if (tokens !== null && !isTokens(tokens)) return null
  return {
    url,
    issuer,
    person: { id: who.id, name: who.name, email: who.email },
    organization: { id: where.id, name: where.name },
    tokens,
  }
}

function isTokens(value: unknown): value is Tokens {
  const { access, refresh, expiresAt } = Object(value)
  return isSecret(access) && isSecret(refresh) && Number.isSafeInteger(expiresAt)
}

/** A header can carry no other characters, and an error about one could print it. */
const isSecret = (value: unknown): boolean => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)

// biome-ignore lint/suspicious/noExplicitAny: every member is checked by the caller
function parseObject(text: string): any {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
