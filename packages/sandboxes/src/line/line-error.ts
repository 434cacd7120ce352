import { asObject } from '@berth/platform/kit/json.ts'

/** The other side of a line broke the protocol, or left in the middle of an answer. */
export class LineBroken extends Error {
  override readonly name: string = 'LineBroken'
}

/** No line leads to the host now. It dials again by itself; whoever needs it may wait. */
export class HostAwayError extends Error {
  override readonly name = 'HostAwayError'
}

/** Returns whether an error says that a host is away, or has one as its cause that does. */
export function isHostAway(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) if (one instanceof HostAwayError) return true
  return false
}

/** A call failed at the other side, with an error that has no class here. Its message has the other's name and words. */
export class FarError extends Error {
  override readonly name = 'FarError'
}

/** An error that can be sent. */
export interface SentError {
  readonly name: string
  readonly message: string
  readonly code?: string
}

type ErrorClass = new (message: string) => Error

/** The errors that arrive as themselves, by name. */
export type ErrorClasses = Readonly<Record<string, ErrorClass>>

/** Longest message of an error, in either direction. */
const MAX_MESSAGE = 4096

const everywhere: ErrorClasses = { TypeError, RangeError }

/** Returns what to send of an error. */
export function sentError(error: unknown): SentError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error).slice(0, MAX_MESSAGE) }
  const { name, message } = error
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  return { name, message: message.slice(0, MAX_MESSAGE), ...code }
}

/**
 * Returns the error that the other side threw.
 * @param received what it says, which is not to be trusted
 */
export function receivedError(received: unknown, classes: ErrorClasses): Error {
  const { name, message } = { name: 'Error', message: 'no words', ...asObject(received) }
  const shown = String(message).slice(0, MAX_MESSAGE)
  const known = { ...everywhere, ...classes }
  const found = typeof name === 'string' && Object.hasOwn(known, name) ? known[name] : undefined
  return found === undefined ? new FarError(`${String(name).slice(0, 100)}: ${shown}`) : new found(shown)
}
