import type { Credential, Platform } from '@berth/client'
import { SignInRequired } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import type { Tokens } from '../profiles/profile.ts'
import type { ProfileStore } from '../profiles/profile-store.ts'

/** An access token is renewed so long before its end. */
const AHEAD_MS = 60_000

/**
 * Returns the credential of a profile. Of several processes that find the access token at its end, or refused, one renews
 * it under the profile's lock, and the others take the token that it wrote: the account service ends a sign-in whose
 * refresh token it sees twice.
 *
 * The credential throws SignInRequired once the sign-in has ended.
 */
export function personCredential(store: ProfileStore, name: string, platform: Platform): Credential {
  let held: Tokens | null = null
  let renewing: Promise<Tokens> | null = null
  const serves = (tokens: Tokens, refused: string | null) =>
    tokens.access !== refused && tokens.expiresAt - platform.now() > AHEAD_MS

  const read = (): Tokens => {
    const tokens = store.read(name)?.tokens ?? null
    if (tokens === null) throw new SignInRequired(name)
    return tokens
  }
  const renew = async (refused: string | null): Promise<Tokens> => {
    using _lock = await store.lock(name, platform)
    const tokens = read()
    // Awaited here, because the lock ends with this function.
    return serves(tokens, refused) ? tokens : await refresh(store, name, tokens, platform)
  }
  return async wanted => {
    const refused = wanted.renew ? (held?.access ?? null) : null
    if (held !== null && serves(held, refused)) return held.access
    held = read()
    if (serves(held, refused)) return held.access
    renewing ??= renew(refused).finally(() => {
      renewing = null
    })
    held = await renewing
    return held.access
  }
}

/** Renews the tokens of a profile whose lock the caller holds, and writes them. */
async function refresh(store: ProfileStore, name: string, { refresh }: Tokens, platform: Platform): Promise<Tokens> {
  const { AccountRefusal, AccountService } = await import('./account-service.ts')
  const profile = store.read(name)
  if (profile === null) throw new SignInRequired(name)
  const service = await AccountService.find(profile.issuer, platform)
  let interrupted = false
  // The old token is spent once the request is out. To end before the new one is written would end the sign-in.
  using _interrupts = onInterrupt(() => {
    interrupted = true
  })
  try {
    const tokens = await service.refresh(refresh)
    store.write(name, { ...profile, tokens })
    return tokens
  } catch (failure) {
    if (!(failure instanceof AccountRefusal) || failure.code !== 'invalid_grant') throw failure
    store.write(name, { ...profile, tokens: null })
    throw new SignInRequired(name)
  } finally {
    if (interrupted) setImmediate(interruptAgain)
  }
}

/** Delivers an interrupt that was held back, unless a command has handled it already. */
function interruptAgain(): void {
  if (process.listenerCount('SIGINT') === 0) process.kill(process.pid, 'SIGINT')
}
