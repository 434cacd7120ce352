import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { personOf } from '../person-of.ts'
import { listSandboxPorts, openPreview } from './open-preview.ts'
import type { PreviewPlace } from './preview-place.ts'
import { endPreviews } from './preview-sql.ts'

type Operations = 'listPorts' | 'openPortPreview' | 'endPortPreviews'

const HIGHEST_PORT = 65_535

/** Serves the list of a sandbox's ports, and the way to their previews. */
export function portHandlers(place: PreviewPlace): Pick<Handlers, Operations> {
  return {
    listPorts: async ({ principal, params: { sessionId }, signal }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      return { status: 200, body: await listSandboxPorts(place, person, key, signal) }
    },
    openPortPreview: async ({ principal, params: { sessionId, port }, clientAddress }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      return { status: 201, body: await openPreview(place, person, key, portOf(port), clientAddress) }
    },
    endPortPreviews: async ({ principal, params: { sessionId, port } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      await readSession(place.context, person, key)
      await endPreviews(place.context.db, key, portOf(port))
      return { status: 204 }
    },
  }
}

function portOf(text: string): number {
  const port = Number(text)
  if (port > HIGHEST_PORT) throw refusal('invalid_path_parameter', { parameter: 'port' })
  return port
}
