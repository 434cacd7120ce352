import { fitsHost } from '@berth/platform/network/host-pattern.ts'
import { isBelow } from '@berth/platform/network/path-prefix.ts'
import type { EgressSecret } from '../../driver.ts'
import { type Found, findPlaceholder } from './find-placeholder.ts'
import { decoded, type RequestHead } from './request-head.ts'

/** Where a request goes. Over plain HTTP nobody proves to be the host. */
export interface Destination {
  readonly host: string
  readonly isSecure: boolean
}

/** What becomes of a request: it has no placeholder; its secrets are put in; or it is refused for one. */
export type Judgement =
  | { readonly kind: 'pass' }
  | { readonly kind: 'put'; readonly head: RequestHead; readonly names: readonly string[] }
  | { readonly kind: 'refuse'; readonly name: string; readonly reason: string }

/**
 * Puts the secrets of a request's placeholders in. A placeholder counts only in the place that its secret names, once, in
 * a request that its secret is for; any other refuses the request. What goes out there is always the form that the secret
 * names, so nothing of the sandbox is part of it.
 */
export function judgeHead(secrets: readonly EgressSecret[], to: Destination, head: RequestHead): Judgement {
  let current = head
  const names: string[] = []
  for (const secret of secrets) {
    // In the original: a value that was put in is nobody's placeholder.
    const found = findPlaceholder(head, secret.placeholder)
    if (found.length === 0) continue
    const fault = faultOf(secret, to, head)
    const put = fault === undefined && found.length === 1 && found[0] ? putInto(current, secret, found[0]) : undefined
    if (put === undefined) {
      const reason = fault ?? `the placeholder of ${secret.name} may stand only ${placeOf(secret)}, and only once`
      return { kind: 'refuse', name: secret.name, reason }
    }
    current = put
    names.push(secret.name)
  }
  return names.length === 0 ? { kind: 'pass' } : { kind: 'put', head: current, names }
}

/** Returns whether one of the secrets goes to a host. */
export function isNamed(secrets: readonly EgressSecret[], host: string): boolean {
  return secrets.some(secret => goesTo(secret, host))
}

const goesTo = ({ hosts }: EgressSecret, host: string) => hosts.some(pattern => fitsHost(host, pattern))

/** Returns why a secret is not for a request; undefined if it is. */
function faultOf(secret: EgressSecret, to: Destination, { headers, method, target }: RequestHead): string | undefined {
  const { hosts, methods, name, paths } = secret
  if (!goesTo(secret, to.host)) return `${name} goes only to ${hosts.join(', ')}, and this request goes to ${to.host}`
  if (!to.isSecure) return `${name} goes out only over HTTPS, and this request is plain HTTP`
  // Its answer is the request, with the secret.
  if (method.toUpperCase() === 'TRACE') return `${name} does not go out with TRACE`
  if (methods !== undefined && !methods.includes(method)) {
    return `${name} goes out only with ${methods.join(', ')}, and this request is ${method}`
  }
  const [path = '', query = ''] = target.split('?')
  const otherwise = (methods ?? paths) ? overrideIn(headers, query) : undefined
  if (otherwise !== undefined)
    return `${name} does not go out with ${otherwise}, by which a server may read another request`
  if (paths !== undefined && (isAmbiguous(path) || !paths.some(prefix => isBelow(path, prefix)))) {
    return `${name} goes out only to paths below ${paths.join(', ')}`
  }
  return undefined
}

/**
 * What servers and frameworks take a request's method or path from, in place of its first line. Proxies in front of them pass
 * all of it on. The same in a body is not seen here.
 */
const overrides = new Set([
  ...['x-http-method-override', 'x-http-method', 'x-method-override'],
  ...['x-original-url', 'x-rewrite-url', 'x-original-uri', 'x-forwarded-uri', 'x-forwarded-path', 'x-forwarded-prefix'],
])

/** Returns what in a request may stand for another method or path than it says. */
function overrideIn(headers: RequestHead['headers'], query: string): string | undefined {
  // Some servers read an underscore as a hyphen.
  const header = headers.find(([name]) => overrides.has(name.toLowerCase().replaceAll('_', '-')))?.[0]
  if (header !== undefined) return `the header ${header}`
  const isParameter = (part: string) => decoded(cut(part)[0].replaceAll('+', ' ')).trim().toLowerCase() === '_method'
  return query.split(/[&;]/).some(isParameter) ? 'the query parameter _method' : undefined
}

/** Returns whether a server may read a path as another one than it says, so that a prefix of it proves nothing. */
function isAmbiguous(path: string): boolean {
  return (
    /%2e|%2f|%5c|%00|\\|\/\/|#/i.test(path) ||
    decoded(path)
      .split('/')
      .some(segment => ['.', '..'].includes(segment.split(';')[0] ?? ''))
  )
}

/** Returns the head with the secret in place of its placeholder; undefined if that is not the secret's place. */
function putInto(head: RequestHead, { placeholder, put, value }: EgressSecret, found: Found): RequestHead | undefined {
  if ('query' in put) {
    const target = found.in === 'target' ? withParameter(head.target, put.query, placeholder, value) : undefined
    return target === undefined ? undefined : { ...head, target }
  }
  if (found.in === 'target' || found.in === 'method') return undefined
  const [name = '', sent = ''] = head.headers[found.at] ?? []
  if ('header' in put) {
    const isPlace = found.in === 'header' && name.toLowerCase() === put.header.toLowerCase()
    return isPlace && isSent(sent, put.format, placeholder)
      ? withHeader(head, found.at, filled(put.format, bytesOf(value)))
      : undefined
  }
  if (found.in !== 'basic' || name.toLowerCase() !== 'authorization') return undefined
  const { password, user } = found
  // Some programs send a token as the user of no password.
  if (password !== placeholder && !(user === placeholder && !password.includes(placeholder))) return undefined
  if (password === placeholder && user.includes(placeholder)) return undefined
  return withHeader(head, found.at, `Basic ${Buffer.from(`${put.basic.user}:${value}`).toString('base64')}`)
}

/** Returns whether a header holds the placeholder in the secret's format, alone, or behind another scheme. */
function isSent(sent: string, format: string, placeholder: string): boolean {
  const text = sent.trim()
  if (text === filled(format, placeholder)) return true
  const [first = '', second, ...more] = text.split(/ +/)
  return more.length === 0 && (second ?? first) === placeholder && (second === undefined || /^[a-z-]+$/i.test(first))
}

/** Returns a value as headers carry it: a character a byte. */
const bytesOf = (value: string) => Buffer.from(value).toString('latin1')

// A function, since `replace` reads some characters of a text.
const filled = (format: string, value: string) => format.replace('{value}', () => value)

function withHeader(head: RequestHead, at: number, value: string): RequestHead {
  return { ...head, headers: head.headers.map(([name, own], index) => [name, index === at ? value : own] as const) }
}

/** Returns a target whose parameter has the value; undefined unless that parameter alone is the placeholder, once. */
function withParameter(target: string, name: string, placeholder: string, value: string): string | undefined {
  const query = target.indexOf('?')
  if (query < 0) return undefined
  const isPlace = (part: string) => {
    const [key = '', given = ''] = cut(part)
    return decoded(key.replaceAll('+', ' ')) === name && decoded(given) === placeholder
  }
  const parts = target.slice(query + 1).split('&')
  const rest = [target.slice(0, query), ...parts.filter(part => !isPlace(part))]
  if (parts.filter(isPlace).length !== 1 || rest.some(part => decoded(part).includes(placeholder))) return undefined
  const put = parts.map(part => (isPlace(part) ? `${cut(part)[0]}=${encodeURIComponent(value)}` : part))
  return `${target.slice(0, query)}?${put.join('&')}`
}

function cut(part: string): readonly [key: string, value: string] {
  const equals = part.indexOf('=')
  return equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)]
}

/** Says where a secret is put, for whoever writes a request. */
function placeOf({ name, put }: EgressSecret): string {
  if ('query' in put) return `in the query parameter ${put.query}`
  if ('basic' in put) return `as the password of basic authentication`
  return `in the header ${put.header}: ${put.format.replace('{value}', () => `$${name}`)}`
}
