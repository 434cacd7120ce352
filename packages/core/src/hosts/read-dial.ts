import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { hostLimits, isHostLabels, isHostPool } from '@berth/contract'
import { HOSTS_PATH, LineRefused, PROTOCOL } from '@berth/sandboxes/line/upgrade.ts'
import type { DialledHost } from './far-host-sql.ts'

const VERSIONED = /^berth-host\/\d{1,9}$/
const DRIVER = /^[a-z][a-z0-9-]{0,30}$/

/** A host that asks to be connected. */
export interface Dial {
  readonly token: string
  readonly tokenSha256: Buffer
  readonly host: DialledHost
}

/** A host of another release, which speaks another version of the protocol. */
export class OtherProtocol extends LineRefused {
  /** The digest of its token, and its protocol, if it has both. */
  readonly presented: { readonly tokenSha256: Buffer; readonly protocol: string } | undefined

  constructor(protocol: string, token: string | undefined) {
    super(426, `this service speaks ${PROTOCOL}: install the release of the service on the host`)
    if (token !== undefined && VERSIONED.test(protocol)) this.presented = { tokenSha256: digestOf(token), protocol }
  }
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/**
 * Reads the request of a host. Nothing in it is to be trusted.
 * @throws LineRefused, OtherProtocol
 */
export function readDial({ headers, method, url }: IncomingMessage): Dial {
  if (method !== 'GET' || url?.split('?')[0] !== HOSTS_PATH) throw new LineRefused(404, 'no such path')
  const [, token] = /^Bearer ([\x21-\x7e]{16,4096})$/.exec(headers.authorization ?? '') ?? []
  if (headers.upgrade !== PROTOCOL) throw new OtherProtocol(headers.upgrade ?? '', token)
  if (token === undefined) throw new LineRefused(401, 'a host needs its token')
  const capacity = Number(headers['berth-host-capacity'])
  const pool = headers['berth-host-pool']
  const driver = String(headers['berth-host-driver'] ?? '')
  const isRight = Number.isSafeInteger(capacity) && capacity >= 1 && capacity <= hostLimits.capacity
  if (!isRight || !isPool(pool) || !DRIVER.test(driver)) throw new LineRefused(400, 'not what a host says of itself')
  const labels = readLabels(String(headers['berth-host-labels'] ?? '%7B%7D'))
  return { token, tokenSha256: digestOf(token), host: { capacity, pool, labels, driver } }
}

const isPool = (value: unknown): value is string | undefined => value === undefined || isHostPool(value)

function readLabels(text: string): Readonly<Record<string, string>> {
  try {
    const labels: unknown = JSON.parse(decodeURIComponent(text))
    if (isHostLabels(labels)) return labels
  } catch {
    // Not labels.
  }
  throw new LineRefused(400, 'not the labels of a host')
}

/** Whether two digests are the same, in a time that tells nothing about them. */
export const isSameDigest = (one: Buffer, other: Buffer): boolean =>
  one.length === other.length && timingSafeEqual(one, other)
