import { timingSafeEqual } from 'node:crypto'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { FastifyRequest } from 'fastify'
import { isSameOrigin } from './same-origin.ts'

/** Returns the token that a page puts into its forms. @param bound names the browser's session and what the form is for */
export const formToken = (masterKey: MasterKey, bound: string): string =>
  masterKey.digest(`form/${bound}`).toString('base64url')

/** Returns whether a form was sent by the page that carries this token, and not by another site. */
export function isOwnForm(
  { headers }: Pick<FastifyRequest, 'headers'>,
  form: URLSearchParams,
  token: string,
  authUrl: string,
): boolean {
  if (!isSameOrigin(headers, authUrl)) return false
  const [given, expected] = [Buffer.from(form.get('csrf') ?? ''), Buffer.from(token)]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
