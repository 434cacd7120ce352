import { artifactHandlers } from './artifacts/routes.ts'
import type { Context } from './context.ts'
import { discoveryHandlers, type Platform } from './discovery/routes.ts'
import { eventHandlers, type Streaming } from './events/routes.ts'
import type { Handlers } from './http/handler.ts'
import { interactionHandlers } from './interactions/routes.ts'
import { mergeHandlers } from './merges/routes.ts'
import { publicationHandlers } from './publications/routes.ts'
import { repositoryHandlers } from './repositories/routes.ts'
import { reviewHandlers } from './reviews/routes.ts'
import { runHandlers } from './runs/routes.ts'
import { sessionHandlers } from './sessions/routes.ts'
import type { TranscriptionConfig } from './settings/config-file.ts'
import { transcriptionHandlers } from './transcription/routes.ts'
import { turnHandlers } from './turns/routes.ts'

/** Every guarded operation of the API; a domain that forgets one does not compile. */
export function apiHandlers(
  context: Context,
  platform: Platform,
  streaming: Streaming,
  transcription: TranscriptionConfig | undefined,
): Handlers {
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
    ...transcriptionHandlers(transcription),
  }
}
