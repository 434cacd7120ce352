import { type Static, Type } from 'typebox'
import { open, openString } from './scalar.ts'

/** What one check says of a pull request's head. */
export const PullCheck = Type.Object(
  {
    name: Type.String(),
    state: openString(
      ['success', 'failure', 'pending', 'skipped', 'missing'],
      '`missing`: it is required, and nobody has reported it yet.',
    ),
    required: Type.Boolean({ description: 'Nothing is merged before it has succeeded.' }),
    url: Type.Optional(Type.String({ format: 'uri', description: 'Where it tells more: http or https.' })),
  },
  { title: 'PullCheck', ...open },
)

/** What keeps a pull request from being merged. */
export const PullChecks = Type.Object(
  {
    state: openString(['open', 'merged', 'closed']),
    headOid: Type.String(),
    blockers: Type.Array(Type.String()),
    known: Type.Boolean({ description: 'False if the Git host does not let the service read checks.' }),
    checks: Type.Array(PullCheck, { description: 'Checks of an open pull request.' }),
  },
  { title: 'PullChecks', ...open },
)

export type PullCheck = Static<typeof PullCheck>
export type PullChecks = Static<typeof PullChecks>
