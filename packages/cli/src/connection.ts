import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BerthClient, type Credential, createClient, defaultPlatform } from '@berth/client'
import { UsageError } from './failure.ts'
import { isHttpUrl, isSameDeployment } from './http-url.ts'
import { ProfileStore } from './profiles/profile-store.ts'
import type { ServiceClock } from './service-clock.ts'
import { personCredential } from './sign-in/person-credential.ts'

export interface ConnectionFlags {
  readonly url?: string
  readonly key?: string
  readonly profile?: string
}

/** Where a credential comes from: a sign-in, or the place of an API key. */
export type CredentialOrigin =
  | { readonly kind: 'profile'; readonly name: string }
  | { readonly kind: 'key'; readonly from: string }

export interface Connection {
  readonly url: string
  readonly credential: Credential
  readonly origin: CredentialOrigin
  /** Origin of the account service at which the person signed in; null with an API key. */
  readonly authUrl: string | null
  /** The local service's own key, if a command should use it once this sign-in has ended. */
  readonly standIn?: Connection
}

/** A service and a key, as files and the environment name them. */
interface Keyed {
  readonly url: string
  readonly key: string
  readonly organizationId: unknown
}

/**
 * Finds the service and the credential. A key of the flags or of `BERTH_API_KEY` goes first, then the profile that
 * `--profile` or `BERTH_PROFILE` names, then the current profile, then the key that a local service leaves in its data
 * directory. The local key goes only to the local service, and a sign-in only to its deployment, however the URL is given.
 *
 * @throws UsageError if none of these names a service and a credential
 */
export function findConnection(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Connection {
  const url = flags.url ?? (env.BERTH_URL || undefined)
  if (url !== undefined && !isHttpUrl(url)) throw new UsageError(`${url} is not an http or https URL`)
  if (flags.key !== undefined && flags.profile !== undefined) {
    throw new UsageError('--key and --profile name two credentials; give one of them')
  }
  const key = flags.profile === undefined ? (flags.key ?? (env.BERTH_API_KEY || undefined)) : undefined
  const from = flags.key === undefined ? 'BERTH_API_KEY' : '--key'
  const path = join(env.BERTH_DATA_DIR || '.berth', 'dev.json')
  if (key === undefined) {
    const store = ProfileStore.of(env)
    const named = flags.profile ?? (env.BERTH_PROFILE || undefined)
    const chosen = findProfile(store, named, url)
    if (chosen !== null) {
      const { name, url, issuer } = chosen
      const credential = personCredential(store, name, defaultPlatform)
      const authUrl = issuer.replace(/\/oidc$/, '')
      const standIn = named === undefined ? findStandIn(path, chosen) : null
      return { url, credential, origin: { kind: 'profile', name }, authUrl, ...(standIn !== null && { standIn }) }
    }
  }
  if (url !== undefined && key !== undefined)
    return { url, credential: key, origin: { kind: 'key', from }, authUrl: null }
  const local = readLocal(path)
  if (url === undefined && local === null) {
    throw new UsageError(
      'no service to talk to: sign in with `berth login --url <url>`, set BERTH_URL and BERTH_API_KEY, or run this in the directory in which script/server was started',
    )
  }
  if (local !== null && (url === undefined || isSameDeployment(local.url, url))) {
    const origin = { kind: 'key', from: key === undefined ? path : from } as const
    return { url: url ?? local.url, credential: key ?? local.key, origin, authUrl: null }
  }
  throw new UsageError(`no credential for ${url}: sign in with \`berth login --url ${url}\`, or set BERTH_API_KEY`)
}

/**
 * Returns the key of a local service that may have taken the place of the profile's, after its data was deleted: it is at
 * the same URL and began with another organization. Else null.
 */
function findStandIn(path: string, { url, organizationId }: Chosen): Connection | null {
  try {
    const local = readLocal(path)
    if (local === null || local.organizationId === organizationId || !isSameDeployment(local.url, url)) return null
    return { url, credential: local.key, origin: { kind: 'key', from: path }, authUrl: null }
  } catch (failure) {
    // A profile needs no local service.
    if (failure instanceof UsageError) return null
    throw failure
  }
}

/** Creates a client that retries less than a program would, because a person is waiting. */
export function connect({ url, credential, authUrl }: Connection, clock: ServiceClock): BerthClient {
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await defaultPlatform.fetch(input, init)
    clock.observe(response.headers.get('date'))
    return response
  }
  const account = authUrl === null ? {} : { authUrl }
  return createClient({ baseUrl: url, ...account, credential, retry: { attempts: 3 }, platform: { fetch } })
}

/** Returns the service that the local service's file names; null if there is none. */
export const findLocalUrl = (env: NodeJS.ProcessEnv): string | null =>
  readLocal(join(env.BERTH_DATA_DIR || '.berth', 'dev.json'))?.url ?? null

interface Chosen {
  readonly name: string
  readonly url: string
  readonly issuer: string
  readonly organizationId: string
}

/** Returns the profile to use: the one named, or else the current one, or the only one of the deployment named. */
function findProfile(store: ProfileStore, named: string | undefined, url: string | undefined): Chosen | null {
  const name = named ?? store.current()
  if (name !== null && (named !== undefined || url === undefined)) {
    const profile = store.read(name)
    if (profile === null && named === undefined) return null
    if (profile === null) throw new UsageError(`there is no profile ${name}; \`berth switch\` lists those there are`)
    if (url !== undefined && !isSameDeployment(profile.url, url)) {
      throw new UsageError(`profile ${name} is of ${profile.url}, not of ${url}`)
    }
    return { name, url: profile.url, issuer: profile.issuer, organizationId: profile.organization.id }
  }
  if (url === undefined) return null
  const there = store.ofDeployment(url)
  const [first, second] = there
  if (first === undefined) return null
  const chosen = there.find(each => each.name === name) ?? (second === undefined ? first : undefined)
  if (chosen !== undefined) {
    const { name, profile } = chosen
    return { name, url, issuer: profile.issuer, organizationId: profile.organization.id }
  }
  const names = there.map(each => each.name).join(', ')
  throw new UsageError(`several profiles are of ${url}: ${names}; name one with --profile`)
}

function readLocal(path: string): Keyed | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null
    throw new UsageError(`cannot read ${path}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  const { baseUrl, apiKey, organizationId } = parseObject(text)
  if (typeof baseUrl !== 'string' || typeof apiKey !== 'string' || !isHttpUrl(baseUrl)) {
    throw new UsageError(`${path} does not contain the URL and key of the service; give --url and --key`)
  }
  return { url: baseUrl, key: apiKey, organizationId }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
