import type { Session } from '@berth/client'
import { useRouteContext } from '@tanstack/react-router'
import { useOnline } from '../ui/online.ts'
import { type SessionAction, sessionCan, type Verdict } from './session-can.ts'

/** Returns the actions that a Session allows to the person in front of the page, with the reasons. */
export const useSessionCan = (session: Session): ((action: SessionAction) => Verdict) => useSessionsCan([session])

/** Returns the actions that all of some Sessions allow to the person, with the first reason against each other one. */
export function useSessionsCan(sessions: readonly Session[]): (action: SessionAction) => Verdict {
  const { viewer } = useRouteContext({ from: '/shell' })
  const online = useOnline()
  const { capabilities } = viewer.membership
  return action =>
    sessions.map(session => sessionCan(action, { session, capabilities, online })).find(({ allowed }) => !allowed) ?? {
      allowed: true,
    }
}
