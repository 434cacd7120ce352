import { StartError } from '../../kit/start-error.ts'
import type { Queryable } from './database.ts'

/** SQL condition: a row `c` of pg_class is a table of the log. */
const isOfLog = "c.oid in ('events'::regclass, 'event_pages'::regclass)"
/** The triggers of the schema that refuse changes of the log, whoever the service works as. */
const triggers = ['events_are_immutable', 'events_are_kept', 'event_pages_are_immutable', 'event_pages_are_kept']

/** How a role may change the log in spite of its grants: it owns the tables, or other grants let it; null: not at all. */
export async function waysToChangeLog(db: Queryable): Promise<'owner' | 'grants' | null> {
  const { rows } = await db.query<{ owns: boolean; granted: boolean }>(`
    select bool_or(pg_has_role(c.relowner, 'member')) as owns,
      bool_or(has_table_privilege(c.oid, 'delete, truncate, trigger') or has_any_column_privilege(c.oid, 'update')
        or c.relname = 'event_pages' and has_any_column_privilege(c.oid, 'insert')) as granted
    from pg_class c where ${isOfLog}`)
  if (rows[0]?.owns === true) return 'owner'
  return rows[0]?.granted === true ? 'grants' : null
}

/** Takes all other rights to the log from a role: it reads and appends Events, and the owner's functions do the rest. */
export async function revokeChanges(tx: Queryable, grantee: string): Promise<void> {
  await tx.query(`revoke update, delete, truncate, trigger on events from ${grantee}`)
  await tx.query(`revoke insert, update, delete, truncate, trigger on event_pages from ${grantee}`)
}

/** @throws StartError if somebody has dropped or disabled a trigger that guards the log */
export async function requireTriggers(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ name: string }>(
    `select name from unnest($1::text[]) name where not exists (
       select from pg_trigger t join pg_class c on c.oid = t.tgrelid
       where t.tgname = name and t.tgenabled in ('O', 'A') and ${isOfLog})`,
    [triggers],
  )
  if (rows.length === 0) return
  throw new StartError(
    `the log has lost what guards it (${rows.map(({ name }) => name).join(', ')}): run \`alter table events enable trigger all; alter table event_pages enable trigger all\` as its owner, or restore a dropped trigger from the schema (docs/operations.md#separate-the-roles-of-the-database)`,
  )
}
