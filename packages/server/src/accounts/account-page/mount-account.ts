import type { FastifyInstance } from 'fastify'
import type { SignInContext } from '../sign-in/configuration.ts'
import type { OpenIdProvider } from '../sign-in/provider.ts'
import { AccountRoom } from './account-room.ts'
import { Overview } from './overview.ts'
import { PasswordChange } from './password-change.ts'
import { SecondFactorChange } from './second-factor-change.ts'

/** Adds the pages on which people see and change how they sign in. */
export function mountAccountPages(app: FastifyInstance, context: SignInContext, provider: OpenIdProvider): void {
  const room = new AccountRoom(context, provider)
  room.add(app, '/account', new Overview(room))
  room.add(app, '/account/password', new PasswordChange(room))
  room.add(app, '/account/second-factor', new SecondFactorChange(room))
}
