import type { Platform } from '@berth/client'
import { generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import type { Tokens } from '../profiles/profile.ts'
import type { AccountService } from './account-service.ts'
import { CallbackListener } from './callback-listener.ts'
import { SignInTimeout, within } from './sign-in-end.ts'

/** The pages of a sign-in wait for 30 minutes; few people need more than a few. */
const LIMIT_MS = 15 * 60_000

/**
 * Signs a person in by their browser: authorization code with PKCE, received on loopback (RFC 8252).
 * @param show tells the person the address
 * @throws AccountRefusal if they decline, SignInTimeout if they take longer than 15 minutes, the signal's reason
 */
export async function browserSignIn(request: {
  readonly service: AccountService
  readonly organization: string | undefined
  readonly platform: Platform
  readonly signal: AbortSignal
  readonly show: (address: string) => Promise<void>
}): Promise<Tokens> {
  const { service, organization, platform, signal, show } = request
  const [state, verifier] = [generateRandomState(), generateRandomCodeVerifier()]
  await using listener = await CallbackListener.open(state)
  const { redirectUri } = listener
  await show(await service.authorizationUrl({ redirectUri, state, verifier, organization }))
  const late = () => new SignInTimeout('nobody signed in within 15 minutes; run `berth login` again')
  const response = await within(listener.response, LIMIT_MS, late, platform, signal)
  return service.exchange(response, { state, verifier, redirectUri })
}
