import { receives } from './authority-sql.ts'

/**
 * Parts of the statements that append Events: they write the deliveries of these Events in the same statement, so a
 * delivery exists exactly if its Event does. They read the append's CTE `head`, which must have `last`,
 * `secrets_version`, `owner_kind` and `owner_id` of the Session. `$1` and `$2` name the Session, `$3` is the time, `$8`
 * is the version of its secrets, `$9` the family of the Event, or of each.
 *
 * Sessions of people have an owner that is no installation, and the service's own installation has no endpoints.
 */
const inserted = 'insert into webhook_deliveries (endpoint_id, organization_id, session_id, sequence, created_at)'

const endpoints = `
  join webhook_endpoints w on w.installation_id = head.owner_id
  join installations i on i.id = w.installation_id
  join organizations o on o.id = i.organization_id`

/** A CTE that writes the deliveries of one Event, whose sequence is `head.last`. */
export const queueOne = `queued as (
  ${inserted}
  select w.id, $1, $2, head.last, $3 from head ${endpoints}
  where head.secrets_version = $8 and head.owner_kind = 'app_installation' and $9 = any(w.families) and ${receives}
)`

/** A CTE that writes the deliveries of many Events, the last of which has the sequence `head.last`. */
export const queueMany = `queued as (
  ${inserted}
  select w.id, $1, $2, head.last - cardinality($9::text[]) + f.n, $3
  from head ${endpoints}
  join unnest($9::text[]) with ordinality as f (family, n) on f.family = any(w.families)
  where head.secrets_version = $8 and head.owner_kind = 'app_installation' and ${receives}
  order by f.n
)`
