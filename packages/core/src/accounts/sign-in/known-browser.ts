import { randomUUID } from 'node:crypto'
import { type MasterKey, UnsealError } from '@berth/platform/storage/master-key.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readCookie } from '../../identity/guard/console-cookie.ts'
import type { Person } from '../people/person.ts'
import { commonCookie } from './configuration.ts'

/** The longest life that browsers give a cookie, in seconds. */
const LIFE_SECONDS = 400 * 86_400
/** People whom a browser remembers; the one who signed in last goes first. */
const MOST_PEOPLE = 5

/** What the cookie holds, sealed. */
interface Kept {
  readonly id: string
  readonly people: readonly { readonly personId: string; readonly began: number }[]
}

interface Sealing {
  readonly authUrl: () => string
  readonly masterKey: MasterKey
}

/**
 * Returns a name of this browser, if the person has signed in there before; null otherwise. Whatever ends the sessions of
 * a person makes their browsers unknown as well.
 */
export function knownBrowserOf(
  sealing: Sealing,
  { headers }: Pick<FastifyRequest, 'headers'>,
  person: Pick<Person, 'id' | 'sessionsSince'> | null,
): string | null {
  if (person === null) return null
  const kept = openKept(sealing, headers.cookie)
  const one = kept?.people.find(({ personId }) => personId === person.id)
  return kept !== null && one !== undefined && one.began >= person.sessionsSince ? kept.id : null
}

/** Lets this browser be known as one in which a person has signed in. @param began when, as of their session */
export function rememberBrowser(
  sealing: Sealing,
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: FastifyReply,
  { personId, began }: { readonly personId: string; readonly began: number },
): void {
  const before = openKept(sealing, headers.cookie)
  const others = before?.people.filter(other => other.personId !== personId) ?? []
  const kept: Kept = {
    id: before?.id ?? randomUUID(),
    people: [{ personId, began }, ...others].slice(0, MOST_PEOPLE),
  }
  const { name, path, secure } = commonCookie(sealing.authUrl(), 'known')
  const value = sealing.masterKey.seal(JSON.stringify(kept), name).toString('base64url')
  const attributes = `Path=${path}; Max-Age=${LIFE_SECONDS}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  reply.header('set-cookie', `${name}=${value}; ${attributes}`)
}

function openKept({ authUrl, masterKey }: Sealing, header: string | undefined): Kept | null {
  const { name } = commonCookie(authUrl(), 'known')
  const value = readCookie(header, name)
  if (value === null) return null
  try {
    return JSON.parse(masterKey.open(Buffer.from(value, 'base64url'), name).toString())
  } catch (error) {
    if (error instanceof UnsealError) return null
    throw error
  }
}
