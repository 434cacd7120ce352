import { verifyPassword } from '../people/password.ts'
import { takesCode } from '../second-factor/second-factor.ts'
import { knownBrowserOf } from '../sign-in/known-browser.ts'
import { PasswordThrottle } from '../sign-in/throttle.ts'
import type { AccountRoom, AccountStep } from './account-room.ts'

/** Why somebody has to prove once more who they are; null if they have. */
export type Doubt = { readonly status: 401 | 429; readonly message: string } | null

/**
 * Judges the password, or the code of the second factor, that a form brings: a browser that was left alone must not be
 * enough to change how its person signs in. Guesses are bounded as those of a sign-in are.
 *
 * @param withCode true if a code will do as well
 */
export async function doubtOf(
  room: AccountRoom,
  step: AccountStep,
  form: URLSearchParams,
  withCode = false,
): Promise<Doubt> {
  const { context } = room
  const { person, request, reply } = step
  // Whoever is here has signed in as this person: a browser without its cookie is still no stranger.
  const browser = knownBrowserOf(context, request, person) ?? `page/${step.bound}`
  const taken = await new PasswordThrottle(context.db, context.clock).take({
    address: request.ip,
    email: person.email,
    browser,
  })
  if (taken.kind === 'limited') {
    const wait = taken.retryAfterSeconds
    reply.header('retry-after', String(wait))
    return { status: 429, message: `Too many attempts. Try again in ${wait} seconds.` }
  }
  const code = form.get('code') ?? ''
  const byCode = withCode && code !== ''
  const holds = byCode
    ? await takesCode(context, person, code, request.ip)
    : (await verifyPassword(person.passwordHash, form.get('password') ?? '')).holds
  if (holds) {
    await taken.wasRight()
    return null
  }
  await room.record(step, 'person.reauthentication_refused', 'refused')
  return { status: 401, message: byCode ? 'This code is wrong, or was used before.' : 'This is not your password.' }
}
