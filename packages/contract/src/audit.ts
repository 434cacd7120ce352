import { type Static, Type } from 'typebox'
import { AuditEntry } from './organization.ts'
import { nullable, open } from './scalar.ts'

export const AuditEntryPage = Type.Object(
  { entries: Type.Array(AuditEntry), nextCursor: nullable(Type.String()), hasMore: Type.Boolean() },
  { title: 'AuditEntryPage', ...open },
)

/** What the log can be filtered by. */
export const AuditFacets = Type.Object(
  {
    actions: Type.Array(Type.String(), { description: 'Actions in the log, by name.' }),
    actors: Type.Array(
      Type.Object(
        {
          kind: Type.String(),
          id: nullable(Type.String()),
          name: nullable(Type.String()),
          filter: Type.String({ description: 'The value of `actor` that asks for this actor.' }),
        },
        open,
      ),
      { description: 'At most 200.' },
    ),
  },
  { title: 'AuditFacets', ...open },
)

export type AuditEntryPage = Static<typeof AuditEntryPage>
export type AuditFacets = Static<typeof AuditFacets>
