import { hash } from 'node:crypto'
import type { ModelRequest } from './model-request.ts'
import type { Wire } from './upstream.ts'

/** Members in which the requests of OpenAI's formats name an end user, the stronger first. */
const namingMembers = ['safety_identifier', 'user'] as const

/** Names that a row keeps as they are: short, and printable in a report. */
const plainName = /^[^\p{C}]{1,128}$/u

/**
 * Returns the end user that a request counts for. An end user's token says it. An app with a credential of its own may
 * name the user in the request; a name that is too long or not printable counts under its digest.
 */
export function endUserOf({ caller, wire, body }: Pick<ModelRequest, 'caller' | 'wire' | 'body'>): string | null {
  if (caller.kind === 'end_user') return caller.endUserId
  if ((caller.kind !== 'ai_key' && caller.kind !== 'installation') || !names(wire)) return null
  const named = namingMembers.map(member => body[member]).find(isName)
  if (named === undefined) return null
  return plainName.test(named) ? named : hash('sha256', named)
}

/**
 * Hides from a provider how an end user's device names the user. The hash covers the installation, so that a provider
 * cannot find a name by hashing guesses, nor see that two apps have the same user.
 */
export function hideEndUser(request: ModelRequest): ModelRequest {
  const { caller, wire, body, exactBody } = request
  if (caller.kind !== 'end_user' || !names(wire)) return request
  const entries = namingMembers.flatMap(member => {
    const named = body[member]
    return isName(named) ? [[member, hash('sha256', `${caller.installationId}\0${named}`)] as const] : []
  })
  const hidden = Object.fromEntries(entries)
  return { ...request, body: { ...body, ...hidden }, exactBody: { ...exactBody, ...hidden } }
}

const names = (wire: Wire): boolean => wire === 'chat' || wire === 'responses'

const isName = (value: unknown): value is string => typeof value === 'string' && value !== ''
