import type { Clock } from '@berth/platform/kit/clock.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import { type Database, type Queryable, queryChanged } from '@berth/platform/storage/postgres/database.ts'
import type { Person } from '../people/person.ts'
import { recordPerson } from '../people/record-person.ts'
import { deleteRecoveryCodes, replaceRecoveryCodes, useRecoveryCode } from './recovery-codes.ts'
import { stepOfCode } from './totp.ts'

interface Dependencies {
  readonly db: Database
  readonly clock: Clock
  readonly masterKey: MasterKey
}

/**
 * Takes a code of a person's authenticator, or one of their recovery codes; each counts once. The use of a recovery code
 * is told in the audit log.
 *
 * @param form digest that names the form the code was entered in: a double click sends it twice, and both must count
 */
export async function takesCode(
  { db, clock, masterKey }: Dependencies,
  { id, totpSecret }: Pick<Person, 'id' | 'totpSecret'>,
  code: string,
  address: string,
  form: Uint8Array | null = null,
): Promise<boolean> {
  if (totpSecret === null) return false
  const now = clock.now()
  const step = stepOfCode(masterKey.open(totpSecret, sealContext(id)), code, now)
  if (step !== null) return useTotpStep(db, id, step, form)
  return db.transaction(async tx => {
    const left = await useRecoveryCode(tx, masterKey, { personId: id, code, form }, now)
    if (left === null) return false
    const actor = { kind: 'person', id, name: null } as const
    const action = 'person.recovery_code_used'
    await recordPerson(tx, id, { actor, action, address, outcome: 'done', details: { left } }, now)
    return true
  })
}

/**
 * Gives a person their second factor.
 *
 * @param step the step of the code that confirmed it; that code counts no more
 * @param began when the session that sets it up began
 * @returns the recovery codes, to be shown once; null if the person has a second factor already, or the session has ended
 */
export async function enrolSecondFactor(
  tx: Queryable,
  masterKey: MasterKey,
  personId: string,
  secret: Uint8Array,
  step: number,
  began: number,
): Promise<readonly string[] | null> {
  const { rowCount } = await tx.query(
    `update people set totp_secret = $2, totp_step = $3
     where id = $1 and totp_secret is null and sessions_since <= $4`,
    [personId, masterKey.seal(secret, sealContext(personId)), step, began],
  )
  return rowCount === 0 ? null : replaceRecoveryCodes(tx, masterKey, personId)
}

/** Takes a person's second factor away, with its recovery codes. */
export async function removeSecondFactor(tx: Queryable, personId: string): Promise<void> {
  await tx.query('update people set totp_secret = null, totp_step = null where id = $1', [personId])
  await deleteRecoveryCodes(tx, personId)
}

/** Marks a step as used. @returns false if this step was used in another form, or a later one in any */
async function useTotpStep(db: Queryable, id: string, step: number, form: Uint8Array | null): Promise<boolean> {
  return await queryChanged(db, {
    name: 'use-totp-step',
    text: `
      update people set totp_step = $2, totp_form = $3
      where id = $1 and (totp_step is null or totp_step < $2 or (totp_step = $2 and totp_form = $3))`,
    values: [id, step, form],
  })
}

const sealContext = (personId: string): string => `totp/${personId}`
