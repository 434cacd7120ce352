import { refusal } from '../kit/refusal.ts'

/** The start of a page of repositories: a connection, a page of its host and the entries to skip on it. */
export interface RepositoryPlace {
  readonly connectionId: string
  readonly from: string | null
  readonly skip: number
}

export function encodePlace({ connectionId, from, skip }: RepositoryPlace): string {
  return Buffer.from(JSON.stringify([connectionId, from, skip])).toString('base64url')
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Decodes a cursor.
 * @throws ApiError 400 `invalid_input` if `encodePlace` did not make the text
 */
export function decodePlace(text: string): RepositoryPlace {
  try {
    const [connectionId, from, skip]: unknown[] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    const place = { connectionId, from, skip }
    if (isPlace(place) && encodePlace(place) === text) return place
  } catch {
    // It is refused below.
  }
  throw refusal('invalid_input', {
    issues: [{ path: ['cursor'], message: 'is not a cursor that a page of this list gave' }],
  })
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
