import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BerthClient, createClient } from '@berth/client'
import { UsageError } from './failure.ts'

export interface ConnectionFlags {
  readonly url?: string
  readonly key?: string
}

export interface Connection {
  readonly url: string
  readonly key: string
}

/**
 * Finds the service: from the flags, then `BERTH_URL` and `BERTH_API_KEY`, then the file that a local service leaves in
 * its data directory. The local key goes only to the local service, however the URL is given.
 *
 * @throws UsageError if none of these names a service and a key
 */
export function findConnection(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Connection {
  const url = flags.url ?? (env.BERTH_URL || undefined)
  const key = flags.key ?? (env.BERTH_API_KEY || undefined)
  if (url !== undefined && !isHttpUrl(url)) throw new UsageError(`${url} is not an http or https URL`)
  if (url !== undefined && key !== undefined) return { url, key }
  const local = readLocal(join(env.BERTH_DATA_DIR || '.berth', 'dev.json'))
  if (url === undefined) {
    if (local === null) {
      throw new UsageError(
        'no service to talk to: give --url and --key, set BERTH_URL and BERTH_API_KEY, or run this in the directory in which script/server was started',
      )
    }
    return { url: local.url, key: key ?? local.key }
  }
  if (local !== null && sameOrigin(local.url, url)) return { url, key: local.key }
  throw new UsageError(`no key for ${url}: give --key or set BERTH_API_KEY`)
}

/** Creates a client that retries less than a program would, because a person is waiting. */
export function connect(connection: Connection): BerthClient {
  return createClient({ baseUrl: connection.url, credential: connection.key, retry: { attempts: 3 } })
}

function readLocal(path: string): Connection | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null
    throw new UsageError(`cannot read ${path}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  const { baseUrl, apiKey } = parseObject(text)
  if (typeof baseUrl !== 'string' || typeof apiKey !== 'string' || !isHttpUrl(baseUrl)) {
    throw new UsageError(`${path} does not contain the URL and key of the service; give --url and --key`)
  }
  return { url: baseUrl, key: apiKey }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:')
}

function sameOrigin(a: string, b: string): boolean {
  return URL.parse(a)?.origin === URL.parse(b)?.origin
}
