import { type Static, Type } from 'typebox'
import { AuditRecord } from './organization.ts'
import { nullable, open } from './scalar.ts'

/** An entry of the audit log as the page shows it. */
const AuditEntry = Type.Object(
  {
    ...AuditRecord.properties,
    targetName: nullable(
      Type.String({ description: 'How people call the target; null if nothing has its name any more.' }),
    ),
  },
  { title: 'AuditEntry', ...open },
)

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

export type AuditEntry = Static<typeof AuditEntry>
export type AuditEntryPage = Static<typeof AuditEntryPage>
export type AuditFacets = Static<typeof AuditFacets>
