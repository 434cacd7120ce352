import { hash } from 'node:crypto'

/** Name and attributes of a cookie of the console. */
export interface ConsoleCookie {
  readonly name: string
  readonly secure: boolean
}

/**
 * Returns the cookie of the console's sessions, or of a sign-in under way. Over https the browser binds it to the host.
 * Over http there is only loopback, whose cookies ignore ports: the name then tells deployments apart.
 */
export function consoleCookie(kind: 'console' | 'sign_in', consoleUrl: string, issuer: string): ConsoleCookie {
  const secure = new URL(consoleUrl).protocol === 'https:'
  return secure
    ? { name: `__Host-svc_${kind}`, secure }
    : { name: `svc_${kind}_${hash('sha256', issuer, 'hex').slice(0, 12)}`, secure }
}

/** Returns a `Set-Cookie` header, which no script reads. @param maxAgeSeconds null: it ends with the browser */
export function setCookieOf(
  { name, secure }: ConsoleCookie,
  value: string,
  sameSite: 'Strict' | 'Lax',
  maxAgeSeconds: number | null,
): string {
  const age = maxAgeSeconds === null ? '' : `; Max-Age=${maxAgeSeconds}`
  return `${name}=${value}; Path=/${age}; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`
}

/** Returns the value of a cookie of a request; null without one. */
export function readCookie(header: string | undefined, name: string): string | null {
  const pair = header?.split(/; */).find(each => each.startsWith(`${name}=`))
  return pair?.slice(name.length + 1) || null
}
