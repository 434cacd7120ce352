import { egressLimits, type Issue, type SecretEgress } from '@berth/contract'
import { canonicalJson } from '@berth/platform/kit/request-hash.ts'
import { coversHosts } from '@berth/platform/network/host-pattern.ts'
import { isBelow } from '@berth/platform/network/path-prefix.ts'
import { readPublicHost } from '@berth/platform/network/public-name.ts'

/** Where a request holds the value of a secret. */
export type SecretPut =
  | { readonly header: string; readonly format: string }
  | { readonly basic: { readonly user: string } }
  | { readonly query: string }

/** Where the value of an egress secret may go, with every default filled in. A version of the secret keeps it. */
export interface EgressRule {
  /** Exact, or `*.name`. */
  readonly hosts: readonly string[]
  /** Absent: all. */
  readonly methods?: readonly string[]
  /** Each is that path and everything below it; absent: all. */
  readonly paths?: readonly string[]
  readonly put: SecretPut
  /** Whether setup scripts hold the placeholder as well. */
  readonly setup: boolean
}

/** Headers that carry the request itself: a value there would break it, or address another host. */
const framing = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'keep-alive',
  'expect',
  'http2-settings',
])
const PLACE = '{value}'

/** Returns the faults of a rule beyond its schema, by paths that begin with `egress`. */
export function ruleFaults({ hosts, paths = [], put }: SecretEgress): readonly Issue[] {
  return [
    ...hosts.flatMap((host, index) => hostFault(host, ['egress', 'hosts', index])),
    ...paths.flatMap((path, index) =>
      isAmbiguous(path)
        ? [issue(['paths', index], 'must not hold //, encoded slashes or dots, or the segments . and ..')]
        : [],
    ),
    ...putFaults(put),
  ]
}

/** Servers read such a path in more than one way, so the proxy puts nothing into requests for it. */
const isAmbiguous = (path: string): boolean =>
  /\/\/|%2e|%2f|%5c|%00/i.test(path) || path.split('/').some(segment => /^\.{1,2}(?:;|$)/.test(segment))

/** Returns the fault of a host in a list that passed its schema: its name may never belong to the public network. */
export function hostFault(host: string, path: readonly (string | number)[]): readonly Issue[] {
  return readPublicHost(host.replace(/^\*\./, '')).kind === 'name'
    ? []
    : [{ path: [...path], message: 'is not the name of a public host, such as api.example.com or *.example.com' }]
}

function putFaults({ header, format, basic, query }: SecretEgress['put']): readonly Issue[] {
  const places = [header, basic, query].filter(place => place !== undefined)
  if (places.length !== 1) return [issue(['put'], 'must have exactly one of header, basic and query')]
  if (format !== undefined && header === undefined) return [issue(['put', 'format'], 'needs header')]
  return [
    ...(header !== undefined && (framing.has(header.toLowerCase()) || /^proxy-/i.test(header))
      ? [issue(['put', 'header'], 'is a header that carries the request itself; name another')]
      : []),
    ...(format !== undefined && format.split(PLACE).length !== 2
      ? [issue(['put', 'format'], `must hold ${PLACE} exactly once`)]
      : []),
  ]
}

const issue = (path: readonly (string | number)[], message: string): Issue => ({ path: ['egress', ...path], message })

/** Fills in what a sound rule leaves out. */
export function completeRule({ hosts, methods, paths, put, setup = false }: SecretEgress): EgressRule {
  return {
    hosts,
    ...(methods !== undefined && { methods }),
    ...(paths !== undefined && { paths }),
    put: completePut(put),
    setup,
  }
}

function completePut({ header, format, basic, query = '' }: SecretEgress['put']): SecretPut {
  if (header !== undefined) {
    return { header, format: format ?? (header.toLowerCase() === 'authorization' ? `Bearer ${PLACE}` : PLACE) }
  }
  return basic === undefined ? { query } : { basic }
}

/** Returns why a value cannot stand where a rule puts it; null if it can. */
export function valueFault(value: string, { put }: EgressRule): string | null {
  if (Buffer.byteLength(value) > egressLimits.valueBytes)
    return `must not exceed ${egressLimits.valueBytes} bytes, since it goes into the head of requests`
  if (/\p{Cc}/u.test(value))
    return 'must be one line without control characters, since it goes into the head of requests; leave out the line break at its end'
  if ('header' in put && !/^[!-~](?:[ -~]*[!-~])?$/.test(value))
    return 'must be printable ASCII without white space at its ends, since it goes into a header'
  return null
}

/**
 * Returns whether a rule sends the value nowhere that the present one does not. A change of that kind needs no value:
 * whoever makes any other has to have it, or could send a secret that others wrote to a host of their own.
 */
export function isNoWider(next: EgressRule, present: EgressRule): boolean {
  const { methods, paths } = present
  return (
    // The database keeps no order of members.
    canonicalJson(next.put) === canonicalJson(present.put) &&
    next.hosts.every(host => present.hosts.some(wide => coversHosts(wide, host))) &&
    (methods === undefined || (next.methods?.every(method => methods.includes(method)) ?? false)) &&
    (paths === undefined || (next.paths?.every(path => paths.some(wide => isBelow(path, wide))) ?? false))
  )
}
