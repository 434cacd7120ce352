import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { HOST_AWAY_MS, NEVER_HEARD } from '../runtimes/runtime-hosts.ts'
import type { DialledHost } from './far-host-sql.ts'

/** A pod that has proven who it is. */
export interface KnownPod {
  readonly uid: string
  readonly name: string
  /** Who made it. */
  readonly provisioner: string
  /** The pool that its provisioner makes pods for. */
  readonly pool: string
}

/**
 * Takes a connection of a pod in place of the one before. Its first one makes it a host, of one sandbox and of its
 * provisioner's pool, whatever it says of itself.
 * @param holder the process that has the connection
 * @returns null if another provisioner has a host of this id, or an operator has removed it
 */
export async function takePodConnection(
  db: Queryable,
  { uid, name, provisioner, pool }: KnownPod,
  { driver }: Pick<DialledHost, 'driver'>,
  holder: string,
): Promise<{ readonly id: string; readonly epoch: number } | null> {
  const { rows } = await db.query<{ epoch: string }>({
    name: 'take-pod-connection',
    text: `
      insert into hosts as h (id, name, provisioner, pool, driver, capacity, epoch, connected_to, runtimes,
        created_at, seen_at, heard_at, heard_since)
      values ($1, $2, $3, $4, $5, 1, 1, $6, '{}', now(), now(), now(), now())
      on conflict (id) do update
      set epoch = h.epoch + 1, connected_to = excluded.connected_to, driver = excluded.driver, heard_at = now()
      where h.provisioner = excluded.provisioner and h.removed_at is null
      returning epoch`,
    values: [uid, name, provisioner, pool, driver, holder],
  })
  const [row] = rows
  return row === undefined ? null : { id: uid, epoch: Number(row.epoch) }
}

/** SQL condition: a process has the host's connection. One that was killed has left its name in the row. */
const isHeld = `(connected_to is not null and heard_at > now() - interval '${HOST_AWAY_MS} milliseconds')`

/** A pod's host, as its provisioner sees it. */
export interface PodHostRow {
  readonly id: string
  readonly name: string
  readonly leases: number
  readonly isConnected: boolean
  readonly heardAt: Date
  readonly cordonedAt: Date | null
}

/** Lists the hosts that are pods of a provisioner, with their live leases on `leases_of_host`. */
export async function listPodHosts(db: Queryable, provisioner: string): Promise<readonly PodHostRow[]> {
  return await queryRows<PodHostRow>(db, {
    name: 'list-pod-hosts',
    text: `
      select id, coalesce(name, id) as name, ${isHeld} as "isConnected", heard_at as "heardAt",
        cordoned_at as "cordonedAt",
        (select count(*)::integer from leases l where l.host = h.id and l.ended_at is null) as leases
      from hosts h where provisioner = $1`,
    values: [provisioner],
  })
}

/**
 * Takes the only sandbox that the host of a pod may ever get, in the transaction that writes its lease: whoever reads the row
 * afterwards finds it cordoned, however short the lease is.
 * @returns false if it was taken before, or the host is gone; true as well for a machine that holds many
 */
export async function takeRoom(tx: Queryable, id: string): Promise<boolean> {
  const { rows } = await tx.query<{ got: boolean }>({
    name: 'take-room',
    text: `
      with taken as (
        update hosts set cordoned_at = now()
        where id = $1 and provisioner is not null and cordoned_at is null returning 1
      )
      select exists (select 1 from taken) or exists (select 1 from hosts where id = $1 and provisioner is null) as got`,
    values: [id],
  })
  return rows[0]?.got === true
}

/** Lets a pod's host get no sandboxes any more. */
export async function cordonPodHost(db: Queryable, id: string, provisioner: string): Promise<void> {
  await db.query({
    name: 'cordon-pod-host',
    text: 'update hosts set cordoned_at = now() where id = $1 and provisioner = $2 and cordoned_at is null',
    values: [id, provisioner],
  })
}

/**
 * Notes that the pod of a host is gone. Its leases need not wait for it as they do for a silent machine: a pod does not come
 * back. The row goes once nothing names it.
 */
export async function losePodHost(db: Queryable, id: string, provisioner: string): Promise<void> {
  // A process that still has its connection would announce it again; it lets go within seconds.
  await db.query({
    name: 'lose-pod-host',
    text: `
      update hosts set heard_at = ${NEVER_HEARD}, cordoned_at = coalesce(cordoned_at, now())
      where id = $1 and provisioner = $2 and not ${isHeld}`,
    values: [id, provisioner],
  })
  await db.query({
    name: 'forget-pod-host',
    text: `
      delete from hosts h where id = $1 and provisioner = $2 and not ${isHeld}
        and not exists (select 1 from leases l where l.host = h.id and l.ended_at is null)`,
    values: [id, provisioner],
  })
}
