import type { Interaction } from '@berth/client'
import { getRouteApi } from '@tanstack/react-router'

const route = getRouteApi('/shell/sessions/$sessionId')

/** Checks that something belongs to the Session whose page is open. */
export interface OfOpenSession {
  readonly sessionId: string
  /** Returns those that belong to it. Nothing else may be shown on its page. */
  readonly only: <T extends Pick<Interaction, 'sessionId'>>(items: readonly T[]) => T[]
  /**
   * Returns the id of the Session for a request that decides.
   *
   * @throws if the Interaction belongs to another Session: nobody can decide unseen
   */
  readonly mustOwn: (interaction: Pick<Interaction, 'sessionId'>) => string
}

/**
 * Returns a check against the address of the page, which names the open Session. Cards do not trust their properties:
 * a decision for another Session than the one on screen is the worst that this page could do.
 */
export function useOfOpenSession(): OfOpenSession {
  const { sessionId } = route.useParams()
  const isOwn = (item: Pick<Interaction, 'sessionId'>) => item.sessionId === sessionId
  return {
    sessionId,
    only: items => items.filter(isOwn),
    mustOwn: interaction => {
      if (!isOwn(interaction)) throw new Error(`an Interaction of ${interaction.sessionId} on the page of ${sessionId}`)
      return sessionId
    },
  }
}
