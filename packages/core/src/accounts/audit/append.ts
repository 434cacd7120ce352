import { randomUUID } from 'node:crypto'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * The actor of an audited action: a person, an installation, an app, an operator at a terminal, or the service itself.
 */
export interface Actor {
  readonly kind: 'person' | 'app_installation' | 'app' | 'operator' | 'service'
  readonly id: string | null
  readonly name: string | null
}

/** The actor of `berth admin`. */
export const operator: Actor = { kind: 'operator', id: null, name: 'berth admin' }

/** One fact of the audit log. It holds no secret, and its `details` hold no email address. */
export interface AuditEntry {
  /** Null if the action concerns the deployment or no known organization. */
  readonly organizationId: string | null
  readonly actor: Actor
  /** Such as `member.removed`. */
  readonly action: string
  /** Kind and id of the object of the action. */
  readonly target?: string
  /** Network address of the client. */
  readonly address?: string
  readonly outcome: 'done' | 'refused'
  readonly details?: Readonly<Record<string, unknown>>
}

/** Adds an entry to the audit log. If it tells of a change, append it in the transaction of that change. */
export async function appendAudit(db: Queryable, entry: AuditEntry, now: Date): Promise<void> {
  const { organizationId, actor, action, target, address, outcome, details } = entry
  await db.query({
    name: 'append-audit',
    text: `
      insert into audit_log
        (id, organization_id, at, actor_kind, actor_id, actor_name, action, target, address, outcome, details)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    values: [
      randomUUID(),
      organizationId,
      now,
      actor.kind,
      actor.id,
      actor.name,
      action,
      target ?? null,
      address ?? null,
      outcome,
      JSON.stringify(details ?? {}),
    ],
  })
}
