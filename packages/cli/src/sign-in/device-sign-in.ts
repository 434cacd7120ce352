import { BerthConnectionError, type Platform } from '@berth/client'
import type { Tokens } from '../profiles/profile.ts'
import { AccountRefusal, type AccountService, type DeviceCode } from './account-service.ts'
import { SignInTimeout } from './sign-in-end.ts'

/** RFC 8628, section 3.5: by how much `slow_down` lengthens the interval. */
const SLOWER_MS = 5_000

/**
 * Signs a person in by a code that they enter in a browser on any machine (RFC 8628).
 * @param show tells the person the address and the code
 * @throws AccountRefusal if they decline, SignInTimeout once the code has expired, the signal's reason
 */
export async function deviceSignIn(request: {
  readonly service: AccountService
  readonly organization: string | undefined
  readonly platform: Platform
  readonly signal: AbortSignal
  readonly show: (code: DeviceCode) => Promise<void>
}): Promise<Tokens> {
  const { service, organization, platform, signal, show } = request
  const code = await service.beginDevice(organization)
  const endsAtMs = platform.now() + code.expiresInMs
  await show(code)
  for (let intervalMs = code.intervalMs; ; ) {
    await platform.sleep(intervalMs, signal)
    if (platform.now() >= endsAtMs) throw expired()
    try {
      return await service.pollDevice(code.deviceCode)
    } catch (failure) {
      if (isRefusal(failure, 'expired_token')) throw expired()
      if (isRefusal(failure, 'slow_down')) intervalMs += SLOWER_MS
      // A connection that broke says nothing about the code. A service that is away is asked less and less often.
      else if (failure instanceof BerthConnectionError) intervalMs *= 2
      else if (!isRefusal(failure, 'authorization_pending')) throw failure
    }
  }
}

const expired = (): SignInTimeout => new SignInTimeout('the code has expired; run `berth login --device` again')

const isRefusal = (failure: unknown, code: string): boolean =>
  failure instanceof AccountRefusal && failure.code === code
