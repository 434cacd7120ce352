import type { FastifyInstance } from 'fastify'
import type { AddressMeter } from '../../identity/guard/address-meter.ts'
import type { SignInContext } from '../sign-in/configuration.ts'
import type { SignIn } from '../sign-in/sign-in.ts'
import { AccountRoom } from './account-room.ts'
import { Identities } from './identities.ts'
import { Overview } from './overview.ts'
import { PasswordChange } from './password-change.ts'
import { SecondFactorChange } from './second-factor-change.ts'

/** Adds the pages on which people see and change how they sign in. */
export function mountAccountPages(
  app: FastifyInstance,
  context: SignInContext,
  meter: Pick<AddressMeter, 'take'>,
  { provider, form, external }: SignIn,
): void {
  const room = new AccountRoom(context, meter, provider, form)
  room.add(app, '/account', new Overview(room))
  room.add(app, '/account/password', new PasswordChange(room))
  room.add(app, '/account/second-factor', new SecondFactorChange(room))
  room.add(app, '/account/identities', new Identities(room, external))
}
