import type { Context } from '@berth/core/context.ts'
import type { GatewaySurface } from '@berth/core/http/gateway/routes.ts'
import { BatchingGatewayAuthority } from '@berth/core/identity/guard/gateway-authority.ts'
import type { GatewayJudge } from '@berth/core/identity/guard/gateway-judge.ts'
import { createGateway } from '@berth/gateway/create-gateway.ts'
import { gatewayHandlers } from '@berth/gateway/routes.ts'
import { callTranslated } from '@berth/gateway/translate/call-translated.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Registry } from 'prom-client'

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
    holder,
  }: {
    readonly registry: Registry
    readonly masterKey: MasterKey
    readonly judge: GatewayJudge
    readonly holder: string
  },
  stack: AsyncDisposableStack,
): GatewaySurface {
  const { aliases, fallbacks, details } = config.models
  const made = stack.use(
    createGateway(
      { ...context, holder },
      {
        models: { providers: config.providers, aliases, fallbacks, details },
        limits: gateway,
        masterKey,
        registry,
        callTranslated,
      },
    ),
  )
  return {
    handlers: gatewayHandlers(made),
    authority: new BatchingGatewayAuthority(judge),
    bodyLimitBytes: gateway.bodyBytes,
    clientPatienceMs: gateway.clientPatienceMs,
    graceMs: GRACE_MS,
  }
}
