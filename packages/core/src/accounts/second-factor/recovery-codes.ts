import { randomBytes } from 'node:crypto'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { base32 } from './base32.ts'

const COUNT = 10
/** 80 bits, four groups of four characters. */
const BYTES = 10

/** Gives a person new recovery codes in place of all earlier ones. @returns them, as they are shown once */
export async function replaceRecoveryCodes(
  tx: Queryable,
  masterKey: MasterKey,
  personId: string,
): Promise<readonly string[]> {
  const codes = Array.from({ length: COUNT }, () => base32(randomBytes(BYTES)))
  await deleteRecoveryCodes(tx, personId)
  await tx.query('insert into recovery_codes (person_id, digest) select $1, unnest($2::bytea[])', [
    personId,
    codes.map(code => digestOf(masterKey, personId, code)),
  ])
  return codes.map(code => (code.match(/.{4}/g) ?? []).join('-'))
}

/** Uses a recovery code up. @returns how many are left; null if it is none of the person's, or was used in another form */
export async function useRecoveryCode(
  tx: Queryable,
  masterKey: MasterKey,
  { personId, code, form }: { readonly personId: string; readonly code: string; readonly form: Uint8Array | null },
  now: Date,
): Promise<number | null> {
  const { rowCount } = await tx.query(
    `update recovery_codes set used_at = coalesce(used_at, $3), used_in = $4
     where person_id = $1 and digest = $2 and (used_at is null or used_in = $4)`,
    [personId, digestOf(masterKey, personId, code), now, form],
  )
  return rowCount === 0 ? null : countRecoveryCodes(tx, personId)
}

export async function countRecoveryCodes(db: Queryable, personId: string): Promise<number> {
  const { rows } = await db.query<{ left: number }>(
    'select count(*) as left from recovery_codes where person_id = $1 and used_at is null',
    [personId],
  )
  return rows[0]?.left ?? 0
}

export async function deleteRecoveryCodes(tx: Queryable, personId: string): Promise<void> {
  await tx.query('delete from recovery_codes where person_id = $1', [personId])
}

/** People may leave out the dashes and write small letters. */
const digestOf = (masterKey: MasterKey, personId: string, code: string): Buffer =>
  masterKey.digest(`recovery/${personId}/${code.replaceAll(/[\s-]/g, '').toUpperCase()}`)
