import { connectionHandlers } from '../accounts/connections/routes.ts'
import { identityHandlers } from '../accounts/me.ts'
import { cloudHandlers } from '../cloud/routes.ts'
import { consoleHandlers } from '../console/routes.ts'
import type { Context } from '../context.ts'
import { discoveryHandlers, type Platform } from '../discovery/routes.ts'
import { environmentHandlers } from '../environments/routes.ts'
import type { Handlers } from '../http/routing/handler.ts'
import { openNetwork } from '../network/dial.ts'
import { inRanges, isPublicAddress } from '../network/public-address.ts'
import { releaseHandlers } from '../releases/routes.ts'
import { repositoryHandlers } from '../repositories/routes.ts'
import { artifactHandlers } from '../sessions/artifacts/routes.ts'
import { interactionHandlers } from '../sessions/interactions/routes.ts'
import { mergeHandlers } from '../sessions/merges/routes.ts'
import { publicationHandlers } from '../sessions/publications/routes.ts'
import { reviewHandlers } from '../sessions/reviews/routes.ts'
import { sessionHandlers } from '../sessions/routes.ts'
import { runHandlers } from '../sessions/runs/routes.ts'
import { eventHandlers, type Streaming } from '../sessions/streams/routes.ts'
import { turnHandlers } from '../sessions/turns/routes.ts'
import type { Config } from '../settings/config-file.ts'
import { transcriptionHandlers } from '../transcription/routes.ts'

/** Returns the handlers of every guarded operation of the API; a missing one does not compile. */
export function apiHandlers(
  context: Context,
  platform: Platform,
  streaming: Streaming,
  { transcription, egress }: Pick<Config, 'transcription' | 'egress'>,
  environments: Parameters<typeof environmentHandlers>[1],
): Handlers {
  const isRefused = inRanges(egress.refuse)
  const mayDial = (address: string) => isPublicAddress(address) && !isRefused(address)
  return {
    ...discoveryHandlers(context, platform),
    ...sessionHandlers(context),
    ...turnHandlers(context),
    ...runHandlers(context),
    ...interactionHandlers(context),
    ...eventHandlers(context, streaming),
    ...artifactHandlers(context),
    ...reviewHandlers(context),
    ...publicationHandlers(context),
    ...mergeHandlers(context),
    ...repositoryHandlers(context),
    ...environmentHandlers(context, environments),
    ...transcriptionHandlers(transcription),
    ...releaseHandlers(context, { network: openNetwork(), mayDial }),
    ...identityHandlers(context),
    ...connectionHandlers(context),
    ...cloudHandlers(context),
    ...consoleHandlers(context, streaming),
  }
}
