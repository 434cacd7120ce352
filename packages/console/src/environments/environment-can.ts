import type { Environment } from '@berth/client'
import { useRouteContext } from '@tanstack/react-router'
import type { Verdict } from '../session/session-can.ts'
import { useOnline } from '../ui/online.ts'

/** The facts that decide which actions an environment allows. */
export interface Situation {
  /** Null while it is being written for the first time. */
  readonly environment: Pick<Environment, 'archivedAt' | 'isDefault'> | null
  readonly capabilities: readonly string[]
  readonly online: boolean
}

const obstacles = {
  offline: [({ online }) => !online, 'You are offline. Reconnect to act; what you typed stays in this tab.'],
  unsaved: [({ environment }) => environment === null, 'Create the environment first.'],
  archived: [
    ({ environment }) => typeof environment?.archivedAt === 'string',
    'This environment is archived. Unarchive it first.',
  ],
  live: [({ environment }) => environment?.archivedAt === null, 'This environment is not archived.'],
  default: [
    ({ environment }) => environment?.isDefault === true,
    'This is the default of your organization. Choose another default first.',
  ],
} as const satisfies Record<string, readonly [(situation: Situation) => boolean, string]>

/** Which obstacles count for which action; the first that stands is the one that is named. */
const actions = {
  create: ['offline'],
  save: ['offline', 'archived'],
  upload: ['offline', 'unsaved', 'archived'],
  writeSecret: ['offline', 'unsaved', 'archived'],
  restore: ['offline', 'archived'],
  try: ['offline', 'archived'],
  setDefault: ['offline', 'archived'],
  clearDefault: ['offline'],
  archive: ['offline', 'archived', 'default'],
  unarchive: ['offline', 'live'],
} as const satisfies Record<string, readonly (keyof typeof obstacles)[]>

export type EnvironmentAction = keyof typeof actions

/** Every action, for whoever lists them. */
export const environmentActions = Object.keys(actions) as readonly EnvironmentAction[]

/** Returns whether an environment allows an action to a person, and if not, why. */
export function environmentCan(action: EnvironmentAction, situation: Situation): Verdict {
  if (!situation.capabilities.includes('svc.cloud.sessions:create')) {
    return { allowed: false, reason: 'Your membership does not include this. Ask an administrator.' }
  }
  const first = actions[action].map(name => obstacles[name]).find(([stands]) => stands(situation))
  return first === undefined ? { allowed: true } : { allowed: false, reason: first[1] }
}

/** Returns the actions that an environment allows to the person in front of the page, with the reasons. */
export function useEnvironmentCan(environment: Situation['environment']): (action: EnvironmentAction) => Verdict {
  const { viewer } = useRouteContext({ from: '/shell' })
  const online = useOnline()
  return action => environmentCan(action, { environment, capabilities: viewer.membership.capabilities, online })
}
