import { useRouteContext } from '@tanstack/react-router'
import type { Membership } from '../api/identity.ts'
import type { Verdict } from '../session/session-can.ts'
import { useOnline } from '../ui/online.ts'
import { meetsRequirement, type Requirement, reasonFor } from './requirement.ts'

/** The known facts about the target of an action. Absent facts are no obstacle. */
export interface Target {
  /** The person in front of the page. */
  readonly self?: boolean
  /** The only administrator. */
  readonly lastAdministrator?: boolean
  /** An operator has disabled the account. */
  readonly disabled?: boolean
  /** The installation is revoked, or the key is. */
  readonly ended?: boolean
  /** As many exist as may. */
  readonly full?: boolean
  /** The delivery is being sent. */
  readonly underWay?: boolean
}

interface Situation {
  readonly membership: Pick<Membership, 'role' | 'capabilities'>
  readonly online: boolean
  readonly target: Target
}

const obstacles = {
  offline: [({ online }) => !online, 'You are offline. Reconnect to act.'],
  self: [({ target }) => target.self === true, 'Change your own password on the account page.'],
  lastAdministrator: [
    ({ target }) => target.lastAdministrator === true,
    'This is the last administrator. Make somebody else one first.',
  ],
  disabled: [({ target }) => target.disabled === true, 'An operator has disabled this account. Ask them first.'],
  ended: [({ target }) => target.ended === true, 'It is revoked, and cannot return.'],
  tenKeys: [({ target }) => target.full === true, 'Ten keys are active. Revoke one of them first.'],
  fiveEndpoints: [
    ({ target }) => target.full === true,
    'The installation has five endpoints. Delete one of them first.',
  ],
  underWay: [({ target }) => target.underWay === true, 'It is under way.'],
  twoKeys: [({ target }) => target.full === true, 'Two keys of each kind are active. Revoke or replace one of them.'],
} as const satisfies Record<string, readonly [(situation: Situation) => boolean, string]>

/** The requirements of each action, and its obstacles in the order in which they are named. */
const actions = {
  invite: { needs: 'administrator', obstacles: ['offline'] },
  withdrawInvitation: { needs: 'administrator', obstacles: ['offline'] },
  changeMember: { needs: 'administrator', obstacles: ['offline'] },
  demoteMember: { needs: 'administrator', obstacles: ['offline', 'lastAdministrator'] },
  resetMember: { needs: 'administrator', obstacles: ['offline', 'self', 'disabled'] },
  changeConnections: { needs: 'administrator', obstacles: ['offline'] },
  changeCommits: { needs: 'administrator', obstacles: ['offline'] },
  changeFollowUps: { needs: 'administrator', obstacles: ['offline'] },
  changeCompute: { needs: 'administrator', obstacles: ['offline'] },
  setBudgets: { needs: 'administrator', obstacles: ['offline'] },
  removeMember: { needs: 'administrator', obstacles: ['offline', 'lastAdministrator'] },
  createIntegration: { needs: 'organization.integrations.manage', obstacles: ['offline'] },
  deleteIntegration: { needs: 'organization.integrations.manage', obstacles: ['offline'] },
  createKey: { needs: 'organization.integrations.manage', obstacles: ['offline', 'twoKeys'] },
  replaceKey: { needs: 'organization.integrations.manage', obstacles: ['offline'] },
  revokeKey: { needs: 'organization.integrations.manage', obstacles: ['offline'] },
  changeGrant: { needs: 'organization.integrations.manage', obstacles: ['offline', 'ended'] },
  writeTrigger: { needs: 'organization.integrations.manage', obstacles: ['offline'] },
  deleteTrigger: { needs: 'organization.integrations.manage', obstacles: ['offline'] },
  createApp: { needs: 'organization.applications.manage', obstacles: ['offline'] },
  changeApp: { needs: 'organization.applications.manage', obstacles: ['offline'] },
  deleteApp: { needs: 'organization.applications.manage', obstacles: ['offline'] },
  registerAppKey: { needs: 'organization.applications.manage', obstacles: ['offline', 'tenKeys'] },
  revokeAppKey: { needs: 'organization.applications.manage', obstacles: ['offline'] },
  registerWebhook: { needs: 'organization.applications.manage', obstacles: ['offline', 'fiveEndpoints'] },
  deleteWebhook: { needs: 'organization.applications.manage', obstacles: ['offline'] },
  testWebhook: { needs: 'organization.applications.manage', obstacles: ['offline'] },
  replayWebhook: { needs: 'organization.applications.manage', obstacles: ['offline'] },
  redeliver: { needs: 'organization.applications.manage', obstacles: ['offline', 'underWay'] },
  revokeInstallation: { needs: 'organization.integrations.manage', obstacles: ['offline', 'ended'] },
} as const satisfies Record<string, { needs: Requirement; obstacles: readonly (keyof typeof obstacles)[] }>

export type OrganizationAction = keyof typeof actions

/** Every action, for whoever lists them. */
export const organizationActions = Object.keys(actions) as readonly OrganizationAction[]

/** Returns whether a member may do something to a target, and if not, why. */
export function organizationCan(action: OrganizationAction, situation: Situation): Verdict {
  const { needs, obstacles: names } = actions[action]
  if (!meetsRequirement(needs, situation.membership)) return { allowed: false, reason: reasonFor(needs) }
  const first = names.map(name => obstacles[name]).find(([stands]) => stands(situation))
  return first === undefined ? { allowed: true } : { allowed: false, reason: first[1] }
}

/** Returns the actions of the person in front of the page, with the reasons. */
export function useOrganizationCan(): (action: OrganizationAction, target?: Target) => Verdict {
  const { viewer } = useRouteContext({ from: '/shell' })
  const online = useOnline()
  return (action, target = {}) => organizationCan(action, { membership: viewer.membership, online, target })
}
