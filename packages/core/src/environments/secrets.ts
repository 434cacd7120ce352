import { environmentLimits } from '@berth/contract'
import { isMaskable } from '@berth/platform/kit/redactor.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { readDocument } from './document.ts'
import { nameFault } from './document-rules.ts'
import type { EnvironmentKey, EnvironmentRow } from './environment-sql.ts'
import { recordChange } from './record-change.ts'
import { authorOf, writeEnvironment } from './revise.ts'
import { endSecret, insertSecret, nextVersion } from './secret-sql.ts'

type Dependencies = Pick<Context, 'db' | 'clock'>

/**
 * Writes a secret. Values are never compared: an answer that depended on the old value would tell it.
 * @throws ApiError 400 `environment_invalid`, 404, 409
 */
export async function writeSecret(
  dependencies: Dependencies,
  principal: Principal,
  key: EnvironmentKey,
  secret: { readonly name: string; readonly value: string },
  seen: number,
): Promise<EnvironmentRow> {
  const { name, value } = secret
  const sizeBytes = Buffer.byteLength(value)
  return await writeEnvironment(dependencies, principal, key, {
    seen,
    isDone: () => false,
    decide: async (tx, row, now) => {
      requireRoomFor(row, name, sizeBytes)
      await endSecret(tx, key, name, now)
      const version = await nextVersion(tx, key, name)
      const sealed = masterKeyOf(tx).seal(value, placeOf(key, name, version))
      await insertSecret(tx, key, { name, version, sizeBytes, masked: isMaskable(value), sealed }, now)
      await recordChange(tx, key, authorOf(principal), 'environment.secret_written', { name, version }, now)
      return {}
    },
  })
}

/** Deletes a secret; of one that does not exist the environment stays as it is. @throws ApiError 404, 409 */
export async function deleteSecret(
  dependencies: Dependencies,
  principal: Principal,
  key: EnvironmentKey,
  name: string,
  seen: number,
): Promise<EnvironmentRow> {
  return await writeEnvironment(dependencies, principal, key, {
    seen,
    isDone: ({ secrets }) => secrets.every(secret => secret.name !== name),
    decide: async (tx, _, now) => {
      await endSecret(tx, key, name, now)
      await recordChange(tx, key, authorOf(principal), 'environment.secret_deleted', { name }, now)
      return {}
    },
  })
}

/** The context under which a value is sealed: it opens as no other version, name or environment. */
export const placeOf = ({ organizationId, environmentId }: EnvironmentKey, name: string, version: number): string =>
  `environment/${organizationId}/${environmentId}/${name}/${version}`

function masterKeyOf({ masterKey }: Queryable) {
  if (masterKey === undefined) throw new Error('cannot seal a secret: this process has no master key')
  return masterKey
}

/** @throws ApiError 400 `environment_invalid` */
function requireRoomFor({ secrets, document }: EnvironmentRow, name: string, sizeBytes: number): void {
  const others = secrets.filter(secret => secret.name !== name)
  const bytes = others.reduce((sum, { size_bytes }) => sum + size_bytes, sizeBytes)
  const fault = nameFault(name)
  if (fault !== null) throw invalid('name', fault)
  if (Object.hasOwn(readDocument(document, []).variables, name)) throw invalid('name', 'is a variable of the document')
  if (others.length >= environmentLimits.secrets)
    throw invalid('name', `would be one more than ${environmentLimits.secrets} secrets`)
  if (sizeBytes > environmentLimits.secretBytes)
    throw invalid('value', `must not exceed ${environmentLimits.secretBytes} bytes`)
  if (bytes > environmentLimits.secretsBytes)
    throw invalid('value', `would make the secrets exceed ${environmentLimits.secretsBytes} bytes together`)
}

const invalid = (member: 'name' | 'value', message: string) =>
  refusal('environment_invalid', { issues: [{ path: [member], message }] })
