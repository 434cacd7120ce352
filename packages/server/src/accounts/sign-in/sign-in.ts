import type { FastifyInstance } from 'fastify'
import type { IssuanceMeter } from '../../identity/guard/issuance-meter.ts'
import type { Log } from '../../kit/log.ts'
import type { SignInContext } from './configuration.ts'
import { InteractionRoutes } from './interaction-routes.ts'
import { registerOidcRoutes } from './oidc-routes.ts'
import { OpenIdProvider } from './provider.ts'

/** Adds people's sign-in to the listener: the OpenID provider, which it returns, and its pages. */
export function mountSignIn(
  app: FastifyInstance,
  context: SignInContext,
  meter: Pick<IssuanceMeter, 'take'>,
  log: Log,
): OpenIdProvider {
  const provider = new OpenIdProvider(context, log)
  registerOidcRoutes(app, { provider, meter, clock: context.clock, authUrl: context.authUrl })
  new InteractionRoutes(context, provider).register(app)
  return provider
}
