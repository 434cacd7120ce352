import { environmentLimits, type Issue, type WriteSecret } from '@berth/contract'
import { isMaskable } from '@berth/platform/kit/redactor.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { masterKeyOf, UnsealError } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { readEgressPolicy } from '../accounts/organizations/egress-policy.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { readDocument } from './document.ts'
import { nameFault } from './document-rules.ts'
import type { EgressRule } from './egress-rule.ts'
import type { EnvironmentKey, EnvironmentRow } from './environment-sql.ts'
import { closedHosts, isKeptFrom } from './policy-rules.ts'
import { recordChange } from './record-change.ts'
import { authorOf, writeEnvironment } from './revise.ts'
import { settleExposure, valueFaults } from './secret-exposure.ts'
import { endSecret, insertSecret, listSealed, nextVersion } from './secret-sql.ts'

type Dependencies = Pick<Context, 'db' | 'clock'>

/**
 * Writes a secret, or changes how sandboxes get it. Values are never compared: an answer that depended on the old value
 * would tell it. Without a value the present one is sealed again under the new version.
 * @throws ApiError 400 `environment_invalid`, 404, 409
 */
export async function writeSecret(
  dependencies: Dependencies,
  principal: Principal,
  key: EnvironmentKey,
  secret: WriteSecret & { readonly name: string },
  seen: number,
): Promise<EnvironmentRow> {
  const { name } = secret
  return await writeEnvironment(dependencies, principal, key, {
    seen,
    isDone: () => false,
    decide: async (tx, row, now) => {
      const egress = await settle(tx, key, row, secret)
      const value = secret.value ?? (await presentValue(tx, key, row, name))
      requireNone(valueFaults(value, egress))
      const sizeBytes = Buffer.byteLength(value)
      requireRoomFor(row, name, sizeBytes)
      await endSecret(tx, key, name, now)
      const version = await nextVersion(tx, key, name)
      const sealed = masterKeyOf(tx).seal(value, placeOf(key, name, version))
      await insertSecret(tx, key, { name, version, sizeBytes, masked: isMaskable(value), egress, sealed }, now)
      const details = {
        name,
        version,
        ...(egress === null ? { exposure: 'variable' } : { exposure: 'egress', ...egress }),
      }
      await recordChange(tx, key, authorOf(principal), 'environment.secret_written', details, now)
      return {}
    },
  })
}

/**
 * Returns where the value may go by what the caller says, what is now and the organization's policy.
 * @throws ApiError 400 `environment_invalid`
 */
async function settle(
  tx: Queryable,
  key: EnvironmentKey,
  { secrets }: EnvironmentRow,
  { name, value, exposure, egress }: WriteSecret & { readonly name: string },
): Promise<EgressRule | null> {
  const policy = await readEgressPolicy(tx, key.organizationId)
  if (isKeptFrom(name, key.environmentId, policy)) {
    throw invalid('name', 'is a secret that the organization keeps for other environments; ask an administrator')
  }
  const settled = settleExposure(
    { ...(exposure !== undefined && { exposure }), ...(egress !== undefined && { egress }) },
    secrets.find(secret => secret.name === name) ?? null,
  )
  if ('faults' in settled) throw refusal('environment_invalid', { issues: settled.faults })
  requireNone(closedHosts(settled.egress?.hosts ?? [], policy, ['egress', 'hosts']))
  if (value === undefined && settled.needsValue !== null) throw invalid('value', settled.needsValue)
  return settled.egress
}

/** @throws ApiError 400 `environment_invalid` if the master key does not open it any more */
async function presentValue(tx: Queryable, key: EnvironmentKey, row: EnvironmentRow, name: string): Promise<string> {
  const pins = row.secrets.filter(secret => secret.name === name)
  const [found] = await listSealed(tx, key, pins)
  try {
    if (found !== undefined)
      return masterKeyOf(tx)
        .open(found.sealed, placeOf(key, name, found.version))
        .toString()
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error
  }
  throw invalid('value', 'is needed: the present one cannot be opened any more')
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

function requireNone(issues: readonly Issue[]): void {
  if (issues.length > 0) throw refusal('environment_invalid', { issues })
}

const invalid = (member: 'name' | 'value', message: string) =>
  refusal('environment_invalid', { issues: [{ path: [member], message }] })
