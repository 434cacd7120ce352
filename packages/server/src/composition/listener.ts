import type { RequestListener } from 'node:http'
import type { Context } from '@berth/core/context.ts'
import { type AccountSurface, type ConsoleSurface, createApp } from '@berth/core/http/app.ts'
import type { GatewaySurface } from '@berth/core/http/gateway/routes.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import type { OtherHosts } from '@berth/core/http/routing/other-hosts.ts'
import type { Needs } from '@berth/core/http/routing/probes.ts'
import { AddressMeter } from '@berth/core/identity/guard/address-meter.ts'
import type { Authority } from '@berth/core/identity/guard/principal.ts'
import { publishedStatementKeys } from '@berth/core/sessions/statements/statement-keys.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { listeningOn, type Settings } from '@berth/platform/settings/settings.ts'

/** The HTTP surfaces of this process. Each is absent if the process does not have its role. */
export interface Surfaces {
  readonly api: Handlers | undefined
  readonly gateway: GatewaySurface | undefined
  readonly account: AccountSurface | undefined
  readonly console: ConsoleSurface | undefined
  /** The hosts of previews. */
  readonly otherHosts: OtherHosts | undefined
  /** Judges the credentials of the API and of the account service. */
  readonly authority: Authority
}

/** An open listener. */
export interface Listening {
  readonly port: number
  /** Serves requests that this process hands over without a connection. */
  readonly listener: RequestListener
}

/**
 * Listens at the address in the settings. Disposing of the stack closes the listener after its open requests have
 * ended.
 * @throws StartError if the port is taken or may not be used
 */
export async function listen(
  context: Context,
  settings: Settings,
  { api, gateway, account, console, otherHosts, authority }: Surfaces,
  needs: Needs,
  stack: AsyncDisposableStack,
): Promise<Listening> {
  const { http, limits, listener } = settings
  let { port } = listener
  const app = createApp({
    ...(gateway !== undefined && { gateway }),
    ...(account !== undefined && { account }),
    ...(console !== undefined && { console }),
    ...(otherHosts !== undefined && { otherHosts }),
    ...(api !== undefined && {
      handlers: api,
      statementKeys: publishedStatementKeys(context),
      hookMeter: new AddressMeter(context.db, context.clock, limits.edge, 'hooks'),
    }),
    authority,
    logger: context.log,
    clock: context.clock,
    needs,
    bodies: limits.bodies,
    urls: () => listeningOn(settings, port).urls,
    trustedProxies: http.trustedProxies,
    ...(http.release !== undefined && { release: http.release }),
  })
  stack.defer(() => app.close())
  const { host } = listener
  try {
    await app.listen({ host, port })
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw cause
    throw new StartError(`cannot listen on ${host}:${port} (${code}); BERTH_PORT chooses another port`, { cause })
  }
  const address = app.server.address()
  if (typeof address === 'object' && address !== null) port = address.port
  return { port, listener: app.routing }
}
