import { BerthConnectionError, type Platform } from '@berth/client'
import { UsageError } from '../failure.ts'
import { isHttpUrl } from '../http-url.ts'

const REQUEST_MS = 20_000
/** An operation of the account service in the OpenAPI document. */
const ofAccounts = '/auth/app-installation-token'

/**
 * Returns the OpenID issuer of a deployment. Its OpenAPI document, which is public, names the origin of the account
 * service beside that service's operations.
 * @throws UsageError if the service names none
 */
export async function findIssuer(url: string, authUrl: string | undefined, platform: Platform): Promise<string> {
  const origin = authUrl ?? (await readAccountUrl(url, platform))
  if (!isHttpUrl(origin)) throw new UsageError(`${origin} is not an http or https URL`)
  return `${origin.replace(/\/+$/, '')}/oidc`
}

async function readAccountUrl(url: string, platform: Platform): Promise<string> {
  const base = url.replace(/\/+$/, '')
  const document = await readDocument(`${base}/v1/openapi.json`, platform)
  const server: unknown = document?.paths?.[ofAccounts]?.post?.servers?.[0]?.url
  if (typeof server !== 'string') {
    throw new UsageError(`${url} does not say where its people sign in; name that origin with --auth-url`)
  }
  const found = URL.parse(server, `${base}/`)
  if (found === null || (found.protocol !== 'https:' && new URL(url).protocol === 'https:')) {
    throw new UsageError(`${url} names ${server} for signing in, which is not secure; name the origin with --auth-url`)
  }
  return found.href
}

// biome-ignore lint/suspicious/noExplicitAny: the caller checks the one member that it reads
async function readDocument(url: string, platform: Platform): Promise<any> {
  const answer = await platform
    .fetch(url, { headers: { accept: 'application/json' }, signal: AbortSignal.timeout(REQUEST_MS) })
    .catch((cause: unknown) => {
      throw new BerthConnectionError(url, 'the connection failed', { cause })
    })
  return answer.ok ? answer.json().catch(() => null) : null
}
