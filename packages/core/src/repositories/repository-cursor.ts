import { limits } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'

/** A place in one connection's repositories: a page of its host and the entries to skip on it. */
export interface RepositoryPlace {
  readonly connectionId: string
  readonly from: string | null
  readonly skip: number
}

/** The start of a page of repositories. */
export interface RepositoryStart {
  readonly at: RepositoryPlace
  /** Where connections stopped whose hosts were late; they are read on after all others. */
  readonly late: readonly RepositoryPlace[]
  /** The others have been read, and `at` is such a connection: its host is not asked a third time. */
  readonly again: boolean
}

const most = limits.repositoryCursorCharacters

/** Encodes a cursor. It leaves out late connections that it has no room for. */
export function encodeStart({ at, late, again }: RepositoryStart): string {
  const text = textOf({ at, late, again })
  return text.length <= most || late.length === 0 ? text : encodeStart({ at, late: late.slice(0, -1), again })
}

/** Returns whether a cursor has room for all these late connections beside a place like theirs. */
export function hasRoom(late: readonly RepositoryPlace[]): boolean {
  const [at] = late.toSorted((one, other) => (other.from?.length ?? 0) - (one.from?.length ?? 0))
  return at === undefined || textOf({ at: { ...at, skip: 100 }, late, again: false }).length <= most
}

function textOf({ at, late, again }: RepositoryStart): string {
  const [place, ...places] = [at, ...late].map(({ connectionId, from, skip }) => [connectionId, from, skip])
  const parts = places.length === 0 && !again ? place : [...(place ?? []), places, again]
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Decodes a cursor.
 * @throws ApiError 400 `invalid_input` if `encodeStart` did not make the text
 */
export function decodeStart(text: string): RepositoryStart {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (Array.isArray(parts)) {
      const [, , , late = [], again = false]: unknown[] = parts
      if (Array.isArray(late) && typeof again === 'boolean') {
        const start = { at: toPlace(parts), late: late.map(toPlace), again }
        if (encodeStart(start) === text) return start
      }
    }
  } catch {
    // It is refused below.
  }
  throw refusal('invalid_input', {
    issues: [{ path: ['cursor'], message: 'is not a cursor that a page of this list gave' }],
  })
}

/** @throws TypeError if it is none */
function toPlace([connectionId, from, skip]: readonly unknown[]): RepositoryPlace {
  const place = { connectionId, from, skip }
  if (isPlace(place)) return place
  throw new TypeError('no place')
}

function isPlace(place: Readonly<Record<keyof RepositoryPlace, unknown>>): place is RepositoryPlace {
  const { connectionId, from, skip } = place
  return (
    typeof connectionId === 'string' &&
    uuid.test(connectionId) &&
    (from === null || (typeof from === 'string' && /^[\x21-\x7e]{1,250}$/.test(from))) &&
    Number.isSafeInteger(skip) &&
    (skip as number) >= 0
  )
}
