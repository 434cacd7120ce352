import type { Registry } from 'prom-client'
import type { Context } from '../context.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { gatewayHandlers } from '../gateway/routes.ts'
import { callTranslated } from '../gateway/translate/call-translated.ts'
import type { GatewaySurface } from '../http/gateway/routes.ts'
import { BatchingGatewayAuthority } from '../identity/guard/gateway-authority.ts'
import type { GatewayJudge } from '../identity/guard/gateway-judge.ts'
import type { Settings } from '../settings/settings.ts'
import type { MasterKey } from '../storage/master-key.ts'

/** Time that model answers in progress may still take when the service stops. */
const GRACE_MS = 10_000

/** Opens the model gateway and returns the surface that the listener serves. */
export function openGateway(
  context: Context,
  { gateway, config }: Settings,
  {
    registry,
    masterKey,
    judge,
  }: { readonly registry: Registry; readonly masterKey: MasterKey; readonly judge: GatewayJudge },
  stack: AsyncDisposableStack,
): GatewaySurface {
  const { aliases, fallbacks, details } = config.models
  const made = stack.use(
    createGateway(context, {
      models: { providers: config.providers, aliases, fallbacks, details },
      limits: gateway,
      masterKey,
      registry,
      callTranslated,
    }),
  )
  return {
    handlers: gatewayHandlers(made),
    authority: new BatchingGatewayAuthority(judge),
    bodyLimitBytes: gateway.bodyBytes,
    clientPatienceMs: gateway.clientPatienceMs,
    graceMs: GRACE_MS,
  }
}
