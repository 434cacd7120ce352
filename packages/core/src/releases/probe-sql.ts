import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** An installation's newest uploads are kept up to this number. */
const UPLOADS = 4

/** A release that an installation tries. */
export interface ProbeRow {
  readonly release_sha: string
  readonly engine_sha256: string
  readonly activated_at: Date
  readonly expires_at: Date
}

/** Returns the standing probe of an installation. */
export async function findProbe(db: Queryable, installationId: string, now: Date): Promise<ProbeRow | null> {
  return await queryRow<ProbeRow>(db, {
    name: 'find-probe',
    text: 'select * from runtime_release_probes where installation_id = $1 and expires_at > $2',
    values: [installationId, now],
  })
}

/**
 * Returns the release that a Session's installation tries. Locks the probe until the transaction ends, so that a lease
 * which names the engine is there before the probe can go: the blob is named at every moment.
 */
export async function findProbeOfSession(tx: Queryable, key: SessionKey, now: Date): Promise<ProbeRow | null> {
  return await queryRow<ProbeRow>(tx, {
    name: 'find-probe-of-session',
    text: `
      select p.* from sessions s
      join runtime_release_probes p on p.installation_id = s.owner_id and p.expires_at > $3
      where s.organization_id = $1 and s.id = $2 and s.owner_kind = 'app_installation'
      for share of p`,
    values: [key.organizationId, key.sessionId, now],
  })
}

/**
 * Puts a probe in place of any other. If the same release already stands, it stays as it is, but for a deadline that
 * the caller names.
 *
 * @param probe without `expiresAt`, a new probe ends at `defaultExpiresAt`
 * @returns null if the release stands with another engine
 */
export async function upsertProbe(
  tx: Queryable,
  probe: {
    readonly installationId: string
    readonly releaseSha: string
    readonly engineSha256: string
    readonly expiresAt: Date | null
    readonly defaultExpiresAt: Date
  },
  now: Date,
): Promise<ProbeRow | null> {
  return await queryRow<ProbeRow>(tx, {
    text: `
      insert into runtime_release_probes as p (installation_id, release_sha, engine_sha256, activated_at, expires_at)
      values ($1, $2, $3, $4, coalesce($5::timestamptz, $6::timestamptz))
      on conflict (installation_id) do update set
        release_sha = excluded.release_sha, engine_sha256 = excluded.engine_sha256,
        activated_at = case when p.release_sha = $2 and p.expires_at > $4 then p.activated_at else excluded.activated_at end,
        expires_at = case
          when p.release_sha = $2 and p.expires_at > $4 then coalesce($5::timestamptz, p.expires_at)
          else excluded.expires_at end
      where p.release_sha <> $2 or p.expires_at <= $4 or p.engine_sha256 = $3
      returning *`,
    values: [probe.installationId, probe.releaseSha, probe.engineSha256, now, probe.expiresAt, probe.defaultExpiresAt],
  })
}

/** Deletes the installation's probe if it names this release. */
export async function deleteProbe(db: Queryable, installationId: string, releaseSha: string): Promise<void> {
  await db.query({
    text: 'delete from runtime_release_probes where installation_id = $1 and release_sha = $2',
    values: [installationId, releaseSha],
  })
}

/** Returns the digest of the engine that was uploaded for a release. */
export async function findUpload(db: Queryable, installationId: string, releaseSha: string): Promise<string | null> {
  const { rows } = await db.query<{ sha256: string }>({
    text: 'select sha256 from runtime_release_engines where installation_id = $1 and release_sha = $2',
    values: [installationId, releaseSha],
  })
  return rows[0]?.sha256 ?? null
}

/** Records an upload and forgets the installation's oldest ones beyond a small number. */
export async function recordUpload(
  tx: Queryable,
  upload: { readonly installationId: string; readonly releaseSha: string; readonly sha256: string },
  now: Date,
): Promise<void> {
  await tx.query({
    text: `
      insert into runtime_release_engines as e (installation_id, release_sha, sha256, uploaded_at) values ($1, $2, $3, $4)
      on conflict (installation_id, release_sha) do update set sha256 = excluded.sha256, uploaded_at = excluded.uploaded_at`,
    values: [upload.installationId, upload.releaseSha, upload.sha256, now],
  })
  await tx.query({
    text: `
      delete from runtime_release_engines where installation_id = $1 and release_sha not in (
        select release_sha from runtime_release_engines where installation_id = $1
        order by uploaded_at desc, release_sha limit ${UPLOADS})`,
    values: [upload.installationId],
  })
}

/** Deletes the probes that have expired and the uploads from before a moment. @returns the number of rows */
export async function deleteOldProbes(db: Queryable, now: Date, uploadedBefore: Date): Promise<number> {
  const probes = await db.query({
    text: 'delete from runtime_release_probes where expires_at <= $1',
    values: [now],
  })
  const uploads = await db.query({
    text: 'delete from runtime_release_engines where uploaded_at <= $1',
    values: [uploadedBefore],
  })
  return probes.rowCount + uploads.rowCount
}
