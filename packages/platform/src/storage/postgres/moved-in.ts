/**
 * SQL: the assignment that every `update sessions` has, so that the feed of changes finds the row. It is the number of the
 * transaction in steps of 4096: within a step the value stands, and an update that changes no other indexed column leaves
 * the indexes alone.
 */
export const movedIn = 'moved_in = pg_current_xact_id()::text::bigint >> 12'
