import { type Static, Type } from 'typebox'
import { capabilities, permissions, roles } from './capability.ts'
import { open, openString, Uuid } from './scalar.ts'

const Name = Type.String({ minLength: 1, maxLength: 100 })

/** A person as a member of one organization. */
export const Identity = Type.Object(
  {
    success: Type.Literal(true),
    user: Type.Object({ id: Uuid, name: Name, email: Type.String({ format: 'email' }) }, open),
    organization: Type.Object({ id: Uuid, name: Name }, open),
    membership: Type.Object({ id: Uuid, role: Type.Enum(roles, { type: 'string' }) }, open),
    organizationId: Uuid,
    membershipId: Uuid,
    capabilities: Type.Array(openString([...capabilities, ...permissions], 'What the person may do here.')),
  },
  { title: 'Identity', ...open },
)

export type Identity = Static<typeof Identity>
