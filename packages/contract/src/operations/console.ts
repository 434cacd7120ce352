import { Type } from 'typebox'
import { BrowserSessionList, ConsoleIdentity, GoTo, ReturnTo, SessionLocations } from '../console.ts'
import { operation } from '../operation.ts'
import { Uuid } from '../scalar.ts'
import { SessionPath } from './parameters.ts'

const shared = { tag: 'Identity', access: 'browser' } as const

/** How the console's page knows who is signed in. The sign-in itself is a navigation, so no operation. */
export const consoleOperations = {
  getConsoleIdentity: operation({
    ...shared,
    method: 'GET',
    path: '/cloud/auth/session',
    summary: 'Read who is signed in at this browser',
    responses: { 200: { description: 'The person, and where they are a member.', schema: ConsoleIdentity } },
    errors: [],
  }),
  signOutOfConsole: operation({
    ...shared,
    method: 'POST',
    path: '/cloud/auth/sign-out',
    summary: 'Sign out at this browser',
    description:
      'Ends the session and its sign-in. At `url` the account service ends the sign-in of the browser itself.',
    responses: { 200: { description: 'Where the browser goes next.', schema: GoTo } },
    errors: [],
  }),
  stepUpInConsole: operation({
    ...shared,
    method: 'POST',
    path: '/cloud/auth/step-up',
    summary: 'Prove once more who is at this browser',
    description:
      'At `url` the account service asks for the credentials again. The session goes on under another cookie.',
    body: ReturnTo,
    responses: { 200: { description: 'Where the browser goes next.', schema: GoTo } },
    errors: ['identity_service_unavailable'],
  }),
  listBrowserSessions: operation({
    ...shared,
    method: 'GET',
    path: '/cloud/auth/sessions',
    summary: 'List the browsers in which the person is signed in',
    responses: { 200: { description: 'Live sessions, last used first.', schema: BrowserSessionList } },
    errors: [],
  }),
  endBrowserSession: operation({
    ...shared,
    method: 'DELETE',
    path: '/cloud/auth/sessions/{browserSessionId}',
    summary: 'Sign out at another browser',
    params: Type.Object({ browserSessionId: Uuid }),
    responses: { 204: { description: 'The session has ended.' } },
    errors: ['sign_in_not_found'],
  }),
  locateSession: operation({
    ...shared,
    method: 'GET',
    path: '/cloud/session-locations/{sessionId}',
    summary: "Find which of the person's organizations has a Session",
    description: 'Ids of Sessions are unique within an organization only, so several may have one.',
    tag: 'Sessions',
    params: SessionPath,
    responses: { 200: { description: 'The organizations; none if no Session is found.', schema: SessionLocations } },
    errors: [],
  }),
} as const
