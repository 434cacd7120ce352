import { limits, type PutTriggerDelivery, triggerLimits } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import { storable } from '@berth/core/sessions/log/bounded-text.ts'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { deliverOf } from './deliver/deliver-of.ts'
import { type DeliveryRow, findDelivery, findSigned, insertDelivery } from './delivery-sql.ts'
import { derivedId } from './derived-id.ts'
import type { GitHubEvent } from './github/github-event.ts'
import { findPublishedSession } from './github/published-session-sql.ts'
import { threadOfEvent } from './github/settle-event.ts'
import { fillScript, fillTemplate } from './message-template.ts'
import { threadOf } from './payload-field.ts'
import { runsScripts } from './runs-scripts.ts'
import { findTrigger, type OwnedTriggerKey, type TriggerRow } from './trigger-sql.ts'

type Parts = Pick<Context, 'db' | 'clock' | 'wakeups' | 'runtimes'>

/** A delivery as its sender describes it. */
export interface SentDelivery {
  readonly key: string
  readonly payload: unknown
  /** What signed it, if the same again is a replay whatever its key. */
  readonly signature?: Buffer | null
  /** The event of GitHub that it is. */
  readonly event?: GitHubEvent
}

/**
 * Takes a delivery of the trigger's own installation, unless it was taken before.
 * @throws ApiError 404 `trigger_not_found`, and as `takeFor`
 */
export async function takeDelivery(
  parts: Parts,
  owned: OwnedTriggerKey,
  key: string,
  { payload }: PutTriggerDelivery,
): Promise<DeliveryRow> {
  const trigger = await findTrigger(parts.db, owned)
  if (trigger === null) throw refusal('trigger_not_found')
  return takeFor(parts, trigger, { key, payload: payload ?? {} })
}

/**
 * Takes a delivery, unless it was taken before; that one is answered whatever has become of the trigger.
 * @throws ApiError 400 `invalid_request` if the payload lacks a field of the message, or makes an empty or too long one
 * @throws ApiError 404 `trigger_not_found` if the trigger has been deleted meanwhile
 * @throws ApiError 409 `trigger_disabled`
 * @throws ApiError 429 `trigger_backlog_full`
 */
export async function takeFor(parts: Parts, trigger: TriggerRow, sent: SentDelivery): Promise<DeliveryRow> {
  const { db, clock, wakeups } = parts
  const { key, payload, signature = null, event = null } = sent
  const owned = {
    organizationId: trigger.organization_id,
    triggerId: trigger.id,
    installationId: trigger.installation_id,
  }
  const find = async () =>
    (await findDelivery(db, owned, key)) ?? (signature === null ? null : await findSigned(db, owned, signature))
  const known = await find()
  if (known !== null) return known
  if (!trigger.enabled) throw refusal('trigger_disabled')
  // A system that posts may send any text, and does not mend it if it is refused.
  const isScript = runsScripts(parts.runtimes, trigger.session)
  const message = storable(messageOf(trigger, payload, isScript))
  const named = event === null ? threadOf(payload, trigger.thread) : threadOfEvent(event)
  const thread = named === null ? null : storable(named)
  if (thread !== null && thread.length > triggerLimits.threadCharacters) {
    throw invalidField(['payload'], `names a conversation of more than ${triggerLimits.threadCharacters} characters`)
  }
  const published = event === null ? null : await publishedSession(db, owned, event)
  const sessionId = published ?? (thread === null ? null : derivedId('thread', trigger.id, thread))
  const deliver = deliverOf(trigger, payload)
  const delivery = { key, message, isScript, thread, sessionId, signature, event, deliver }
  const inserted = await insertDelivery(db, owned, delivery, clock.now())
  const taken = await find()
  if (taken === null)
    throw refusal((await findTrigger(db, owned)) === null ? 'trigger_not_found' : 'trigger_backlog_full')
  if (inserted) wakeups.publish(topics.triggers)
  return taken
}

/** Returns the Session that published the pull request of an event. */
async function publishedSession(
  db: Parts['db'],
  owned: OwnedTriggerKey,
  { host, repositoryId, number, isPull }: GitHubEvent,
): Promise<string | null> {
  return isPull && number !== null ? findPublishedSession(db, owned, { host, repositoryId, number }) : null
}

function messageOf(trigger: TriggerRow, payload: unknown, isScript: boolean): string {
  const filled = (isScript ? fillScript : fillTemplate)(trigger.message, payload, limits.messageCharacters)
  if (filled.kind === 'too_long') {
    throw invalidField(['payload'], `makes a message of more than ${limits.messageCharacters} characters`)
  }
  const { message, missing } = filled
  if (missing.length > 0) {
    throw refusal('invalid_request', {
      issues: missing.slice(0, 20).map(field => ({
        path: ['payload', ...field.split('.')],
        message: `is missing, and the trigger's message names it; write {{${field}?}} there if it need not be`,
      })),
    })
  }
  if (message.trim() === '') throw invalidField(['payload'], 'makes an empty message')
  return message
}
