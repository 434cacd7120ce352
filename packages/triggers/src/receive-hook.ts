import { type HookAnswer, triggerLimits } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import { isCheckOfBerth } from '@berth/core/git-hosts/own-check.ts'
import { parseBytes } from '@berth/core/http/body/json-body.ts'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import type { DeliveryRow } from './delivery-sql.ts'
import { readGitHubEvent } from './github/github-event.ts'
import { wakeOnEvent } from './github/wake-on-event.ts'
import { withdraw } from './github/withdraw.ts'
import { bindsSignature, type HookHeaders, headerOf, isTimely, usualKeys, verifySignature } from './hook-scheme.ts'
import { openSecrets } from './hook-secret.ts'
import { findHook } from './hook-sql.ts'
import { readPrincipal } from './installation-sql.ts'
import { fieldAt, textAt } from './payload-field.ts'
import { takeFor } from './take-delivery.ts'
import { toDelivery } from './trigger.ts'
import type { TriggerRow } from './trigger-sql.ts'

/** What arrived at the address of a hook. */
export interface Posted {
  readonly headers: HookHeaders
  readonly bytes: Buffer
}

type Hooked = TriggerRow & { readonly hook: NonNullable<TriggerRow['hook']> }

const keyPattern = new RegExp(`^[!-~]{1,${triggerLimits.keyCharacters}}$`)

/**
 * Takes what another system posts to a trigger. Nothing of it is read before its signature has been verified, and until
 * then the answer is the same whether or not there is such a hook.
 * @throws ApiError 401 `invalid_signature`; 400 for a body that is no object of JSON, or lacks its key; and as `takeFor`
 */
export async function receiveHook(
  context: Pick<Context, 'db' | 'clock' | 'wakeups' | 'runtimes' | 'gitHosts'>,
  hookId: string,
  posted: Posted,
): Promise<{ readonly status: 200 | 202; readonly body: HookAnswer }> {
  const { trigger, signature, body } = await verified(context, hookId, posted)
  const { scheme } = trigger.hook
  if (scheme === 'slack' && fieldAt(body, 'type') === 'url_verification') {
    return { status: 200, body: { challenge: String(fieldAt(body, 'challenge')) } }
  }
  if (scheme === 'github' && trigger.enabled) {
    const grantee = { organizationId: trigger.organization_id, installationId: trigger.installation_id }
    await wakeOnEvent(context, grantee, headerOf(posted.headers, 'x-github-event'), body)
  }
  const unmet = unmetCondition(trigger.hook.where ?? {}, body)
  if (unmet !== null) return { status: 200, body: { ignored: `${unmet} is not as the trigger asks` } }
  const sent = { key: keyOf(trigger, posted, body), signature: bindsSignature(scheme) ? signature : null }
  const { github } = trigger.hook
  if (github === undefined) return took(await takeFor(context, trigger, { ...sent, payload: body }))
  const read = readGitHubEvent(headerOf(posted.headers, 'x-github-event'), body, github)
  if (read.kind === 'ignored') return { status: 200, body: { ignored: read.why } }
  if (read.kind === 'withdrawn') {
    await withdraw(context, trigger, read.of)
    return { status: 200, body: { ignored: 'it was taken from Berth' } }
  }
  const { event } = read
  if (event.app !== null && context.gitHosts.find(event.host)?.talk?.appId === event.app) {
    return { status: 200, body: { ignored: 'the check is of this deployment' } }
  }
  if (isCheckOfBerth(event.externalId ?? null)) {
    return { status: 200, body: { ignored: 'the check is of another deployment of Berth' } }
  }
  const payload = { ...body, event: read.texts }
  return took(await takeFor(context, trigger, { ...sent, payload, event }))
}

const took = (row: DeliveryRow) => ({ status: 202, body: { delivery: toDelivery(row) } }) as const

/** @throws ApiError 401 `invalid_signature`, or 400 for a signed body that is no object of JSON */
async function verified({ db, clock }: Pick<Context, 'db' | 'clock'>, hookId: string, posted: Posted) {
  const now = clock.now()
  const trigger = await findHook(db, hookId)
  // An unknown hook costs the same digest of the body as a known one.
  const secrets = trigger === null ? ['unknown'] : openSecrets(db, trigger, now)
  const signature = verifySignature(trigger?.hook?.scheme ?? 'svc', secrets, posted, now)
  if (trigger === null || trigger.hook === null || signature === null) throw refusal('invalid_signature')
  const { organization_id: organizationId, installation_id: installationId } = trigger
  if ((await readPrincipal(db, { organizationId, installationId })) === null) throw refusal('invalid_signature')
  const body = parseBytes(posted.bytes)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidField([], 'is not an object')
  if (!isTimely(trigger.hook.scheme, body, now)) throw refusal('invalid_signature')
  return { trigger: trigger as Hooked, signature, body }
}

/** Returns the path of the first field that has not the value it must have; null if there is none. */
function unmetCondition(where: NonNullable<Hooked['hook']['where']>, body: unknown): string | null {
  const unmet = Object.entries(where).find(([path, wanted]) => (fieldAt(body, path) ?? null) !== wanted)
  return unmet === undefined ? null : unmet[0]
}

/** @throws ApiError 400 `invalid_request` that says where the key is looked for */
function keyOf({ hook: { scheme, key = usualKeys[scheme] } }: Hooked, { headers }: Posted, body: unknown): string {
  const found = key.field === undefined ? headerOf(headers, (key.header ?? '').toLowerCase()) : textAt(body, key.field)
  if (found !== null && keyPattern.test(found)) return found
  const form = `must hold the delivery's key: 1 to ${triggerLimits.keyCharacters} characters of printable ASCII without spaces`
  if (key.field === undefined) throw invalidField([], `the header ${key.header} ${form}`)
  throw invalidField(key.field.split('.'), form)
}
