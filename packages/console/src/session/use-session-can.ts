import type { Session } from '@berth/client'
import { useRouteContext } from '@tanstack/react-router'
import { useOnline } from '../ui/online.ts'
import { type SessionAction, sessionCan, type Verdict } from './session-can.ts'

/** Returns the actions that a Session allows to the person in front of the page, with the reasons. */
export function useSessionCan(session: Session): (action: SessionAction) => Verdict {
  const { viewer } = useRouteContext({ from: '/shell' })
  const online = useOnline()
  return action => sessionCan(action, { session, capabilities: viewer.membership.capabilities, online })
}
