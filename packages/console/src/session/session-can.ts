import type { Session } from '@berth/client'

/** The facts that decide which actions a Session allows. */
export interface Situation {
  readonly session: Pick<
    Session,
    'archivedAt' | 'continuation' | 'activeRunId' | 'phase' | 'runtime' | 'source' | 'workspace'
  >
  /** Capabilities of the person in this organization. */
  readonly capabilities: readonly string[]
  /** False while the browser has no connection. */
  readonly online: boolean
}

/** Whether an action is possible; if not, a sentence with the reason and a way on. */
export type Verdict = { readonly allowed: true } | { readonly allowed: false; readonly reason: string }

/** A condition that stands in the way of an action. */
interface Obstacle {
  readonly stands: (situation: Situation) => boolean
  readonly reason: string
}

const obstacles = {
  offline: { stands: ({ online }) => !online, reason: 'You are offline. Berth goes on; reconnect to act.' },
  archived: {
    stands: ({ session }) => session.archivedAt !== undefined,
    reason: 'This Session is archived: it can be read, but not continued.',
  },
  busy: {
    stands: ({ session }) => session.activeRunId !== undefined,
    reason: 'The agent is working. Wait until it has finished, or stop it first.',
  },
  idle: { stands: ({ session }) => session.activeRunId === undefined, reason: 'Nothing is running.' },
  foreign: {
    stands: ({ session }) => session.runtime !== undefined,
    reason: 'This agent takes no message while it works.',
  },
  fresh: {
    stands: ({ session }) => session.continuation.state === 'fresh',
    reason: 'There is no work yet to fork from.',
  },
  lost: {
    stands: ({ session }) => session.continuation.reason === 'checkpoint_missing',
    reason: 'The saved work of this Session is missing. Reset the Session to go on from its start.',
  },
  notLost: {
    stands: ({ session }) => session.continuation.reason !== 'checkpoint_missing',
    reason: 'Only a Session whose saved work is missing can be reset.',
  },
  stuck: {
    stands: ({ session }) => !session.continuation.canContinue,
    reason: 'This Session cannot continue. Start a new one to go on.',
  },
  noRepository: {
    stands: ({ session }) => session.source === undefined,
    reason: 'This Session has no repository, so there is nothing to deliver.',
  },
  noSandbox: {
    stands: ({ session }) => session.workspace.state !== 'attached',
    reason: 'The sandbox is gone. Start it, or send a message.',
  },
  hasSandbox: {
    stands: ({ session }) => session.workspace.state === 'attached',
    reason: 'The sandbox is already there.',
  },
} as const satisfies Record<string, Obstacle>

/** Which obstacles count for which action, the first that stands being the one that is named. */
const actions = {
  message: { needs: 'svc.cloud.turns:submit', obstacles: ['offline', 'archived', 'lost', 'stuck', 'busy'] },
  queue: { needs: 'svc.cloud.turns:submit', obstacles: ['offline', 'archived', 'lost', 'idle'] },
  steer: { needs: 'svc.cloud.turns:submit', obstacles: ['offline', 'archived', 'lost', 'idle', 'foreign'] },
  stop: { needs: 'svc.cloud.turns:submit', obstacles: ['offline', 'archived', 'idle'] },
  answer: { needs: 'svc.cloud.turns:submit', obstacles: ['offline', 'archived'] },
  decide: { needs: 'svc.cloud.approvals:respond', obstacles: ['offline', 'archived'] },
  rename: { needs: 'svc.cloud.sessions:create', obstacles: ['offline', 'archived'] },
  archive: { needs: 'svc.cloud.sessions:create', obstacles: ['offline', 'archived'] },
  fork: { needs: 'svc.cloud.sessions:create', obstacles: ['offline', 'archived', 'lost', 'fresh'] },
  reset: { needs: 'svc.cloud.turns:submit', obstacles: ['offline', 'archived', 'notLost', 'busy'] },
  wake: { needs: 'svc.cloud.turns:submit', obstacles: ['offline', 'archived', 'lost', 'stuck', 'busy', 'hasSandbox'] },
  terminal: { needs: 'svc.cloud.turns:submit', obstacles: ['offline', 'archived', 'noSandbox'] },
  // Offline, loaded content stays on screen, and with it a draft about it.
  review: { needs: 'svc.cloud.sessions:read', obstacles: ['noRepository'] },
  preview: { needs: 'svc.cloud.turns:submit', obstacles: ['offline', 'archived', 'noSandbox'] },
  // Without a sandbox it is brought back first.
  startPreview: { needs: 'svc.cloud.turns:submit', obstacles: ['offline', 'archived', 'lost'] },
  view: { needs: 'svc.cloud.sessions:read', obstacles: ['offline'] },
  publish: {
    needs: 'svc.cloud.publications:create',
    // Without a sandbox it is brought back for the delivery.
    obstacles: ['offline', 'archived', 'noRepository', 'busy', 'lost', 'stuck'],
  },
  // The revision is stored, so neither a Run nor a sandbox matters.
  verify: { needs: 'svc.cloud.publications:create', obstacles: ['offline', 'archived', 'noRepository'] },
  merge: { needs: 'svc.cloud.merges:create', obstacles: ['offline', 'archived', 'noRepository'] },
} as const satisfies Record<string, { needs: string; obstacles: readonly (keyof typeof obstacles)[] }>

export type SessionAction = keyof typeof actions

/** Every action, for whoever lists them. */
export const sessionActions = Object.keys(actions) as readonly SessionAction[]

/** Returns whether a Session allows an action to a person, and if not, why. */
export function sessionCan(action: SessionAction, situation: Situation): Verdict {
  const { needs, obstacles: names } = actions[action]
  if (!situation.capabilities.includes(needs)) {
    return { allowed: false, reason: 'Your membership does not include this. Ask an administrator.' }
  }
  const first = names.map(name => obstacles[name] as Obstacle).find(obstacle => obstacle.stands(situation))
  return first === undefined ? { allowed: true } : { allowed: false, reason: first.reason }
}
