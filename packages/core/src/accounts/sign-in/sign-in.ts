import type { Log } from '@berth/platform/kit/log.ts'
import type { FastifyInstance } from 'fastify'
import type { AddressMeter } from '../../identity/guard/address-meter.ts'
import { ExternalSignIn } from '../external/external-sign-in.ts'
import type { SignInContext } from './configuration.ts'
import { InteractionRoutes } from './interaction-routes.ts'
import { registerOidcRoutes } from './oidc-routes.ts'
import { OpenIdProvider } from './provider.ts'
import { SignInForm } from './sign-in-form.ts'

/** What the other pages share with the sign-in. */
export interface SignIn {
  readonly provider: OpenIdProvider
  readonly form: SignInForm
  readonly external: ExternalSignIn
}

/** Adds people's sign-in to the listener: the OpenID provider and its pages, and the way to external providers. */
export function mountSignIn(
  app: FastifyInstance,
  context: SignInContext,
  meter: Pick<AddressMeter, 'take'>,
  log: Log,
): SignIn {
  const provider = new OpenIdProvider(context, log)
  registerOidcRoutes(app, { provider, meter, authUrl: context.authUrl })
  const external = new ExternalSignIn(context, meter, log)
  external.register(app)
  const form = new SignInForm(context, external)
  new InteractionRoutes(context, provider, form).register(app)
  return { provider, form, external }
}
