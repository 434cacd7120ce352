import { decoded, type RequestHead } from './request-head.ts'

/** A place in a head that holds a placeholder. */
export type Found =
  | { readonly in: 'header'; readonly at: number; readonly times: number }
  | { readonly in: 'basic'; readonly at: number; readonly user: string; readonly password: string }
  | { readonly in: 'target'; readonly times: number }
  | { readonly in: 'method' }

const basic = /^basic +([a-z0-9+/_-]+=*) *$/i

/**
 * Returns the places of a head that hold a placeholder: the URL also in its encoded form, and the credentials of basic
 * authentication, which hide it. Bodies are not read.
 */
export function findPlaceholder({ method, target, headers }: RequestHead, placeholder: string): readonly Found[] {
  // Over HTTP/2 a method may be any word.
  const found: Found[] = timesOf(method, placeholder) > 0 ? [{ in: 'method' }] : []
  const inTarget = Math.max(timesOf(target, placeholder), timesOf(decoded(target), placeholder))
  if (inTarget > 0) found.push({ in: 'target', times: inTarget })
  for (const [at, [name, value]] of headers.entries()) {
    const times = timesOf(value, placeholder) + timesOf(name.toLowerCase(), placeholder.toLowerCase())
    if (times > 0) found.push({ in: 'header', at, times })
    const credentials = basicOf(value)
    if (credentials !== undefined && timesOf(`${credentials.user}\n${credentials.password}`, placeholder) > 0) {
      found.push({ in: 'basic', at, ...credentials })
    }
  }
  return found
}

/** Reads the user and the password of a header of basic authentication; undefined for every other value. */
function basicOf(value: string): { readonly user: string; readonly password: string } | undefined {
  const encoded = basic.exec(value)?.[1]
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('latin1')
  const colon = text.indexOf(':')
  return colon < 0 ? { user: text, password: '' } : { user: text.slice(0, colon), password: text.slice(colon + 1) }
}

function timesOf(text: string, part: string): number {
  return text.split(part).length - 1
}
