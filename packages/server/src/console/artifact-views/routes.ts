import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { personOf } from '../person-of.ts'
import { openView, type ViewPlace } from './open-view.ts'

/** Serves the way to views of artifacts. */
export function artifactViewHandlers(place: ViewPlace): Pick<Handlers, 'openArtifactView'> {
  return {
    openArtifactView: async ({ principal, params: { sessionId, artifactId }, clientAddress }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      return { status: 201, body: await openView(place, person, key, artifactId, clientAddress) }
    },
  }
}
