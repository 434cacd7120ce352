import { type CreateSession, limits } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { Principal } from '@berth/core/identity/guard/principal.ts'
import { createSession } from '@berth/core/sessions/create-session.ts'
import { cutText } from '@berth/core/sessions/log/bounded-text.ts'
import { findSession } from '@berth/core/sessions/session/session-sql.ts'
import { admitTurn } from '@berth/core/sessions/turns/admit-turn.ts'
import { findTurn } from '@berth/core/sessions/turns/turn-sql.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { outputOf } from './deliver/text-of.ts'
import { type DueDelivery, sessionOf, setHead } from './delivery-sql.ts'
import { derivedId } from './derived-id.ts'
import { isFollowed } from './github/is-followed.ts'
import { settleEvent } from './github/settle-event.ts'
import { readPrincipal } from './installation-sql.ts'
import { runsScripts } from './runs-scripts.ts'

/** How a try to make the Turn of a delivery ended. */
export type Admission =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'refused'; readonly errorCode: string }
  /** The same may succeed later. */
  | { readonly kind: 'not_now'; readonly errorCode: string; readonly retryAfterMs: number }

const passing: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * Makes the Turn of a delivery: the first of a new Session, or one more of the conversation's. Both ids follow from the
 * delivery, so a second try finds what the first one made.
 */
export async function admitDelivery(context: Context, due: DueDelivery): Promise<Admission> {
  const { organization_id: organizationId, installation_id: installationId } = due
  const principal = await readPrincipal(context.db, { organizationId, installationId })
  if (principal === null) return { kind: 'refused', errorCode: 'authority_revoked' }
  const key = { organizationId, sessionId: sessionOf(due) }
  // The host's answers, or the trigger, may have changed since an earlier try made the Turn.
  if ((await findTurn(context.db, key, turnOf(due))) !== null) return { kind: 'admitted' }
  try {
    const grantee = { organizationId, installationId }
    const session = await findSession(context.db, key)
    if (session !== null && due.event !== null && (await isFollowed(context.db, key, due.event))) {
      return { kind: 'refused', errorCode: 'pull_request_followed' }
    }
    const about = { hook: due.hook, begins: session === null }
    const settled = due.event === null ? null : await settleEvent(context, grantee, due.event, about)
    if (settled?.kind === 'refused') return settled
    if (settled !== null && settled.headOid !== null) await setHead(context.db, due, settled.headOid)
    const isScript = due.is_script ?? runsScripts(context.runtimes, due.session)
    // The message was made for the runtime that the trigger had: text must not become a script, nor a script text.
    if (runsScripts(context.runtimes, session ?? due.session) !== isScript) throw refusal('invalid_input')
    const message = isScript ? due.message : withAppendix(due.message, settled?.appendix(due.message) ?? '')
    if (session !== null) await continueSession(context, principal, key, { ...due, message })
    else await beginSession(context, principal, key, { due: { ...due, message }, source: settled?.source })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { code: errorCode } = error
    // An earlier try made it, with the trigger as it was then.
    if (errorCode === 'cloud_turn_conflict' || errorCode === 'cloud_session_conflict') return { kind: 'admitted' }
    return isPassing(error)
      ? { kind: 'not_now', errorCode, retryAfterMs: Number(error.headers['retry-after'] ?? 0) * 1000 }
      : { kind: 'refused', errorCode }
  }
  return { kind: 'admitted' }
}

async function beginSession(
  context: Context,
  principal: Principal,
  key: SessionKey,
  { due, source }: { readonly due: DueDelivery; readonly source: CreateSession['source'] | undefined },
): Promise<void> {
  const body: CreateSession = {
    ...due.session,
    ...(source !== undefined && { source }),
    origin: { objectType: 'trigger', objectId: due.trigger_id },
    initialTurn: { id: turnOf(due), message: due.message, ...outputOf(due.deliver) },
  }
  await createSession(context, principal, key, body, { triggerId: due.trigger_id })
}

async function continueSession(
  context: Context,
  principal: Principal,
  key: SessionKey,
  due: DueDelivery,
): Promise<void> {
  if (!principal.capabilities.has('svc.cloud.turns:submit')) throw refusal('insufficient_scope')
  await admitTurn(context, principal, key, turnOf(due), { message: due.message, ...outputOf(due.deliver) })
}

/** Returns a message with an appendix, cut to the length of a message. A character is at least one byte. */
const withAppendix = (message: string, appendix: string): string =>
  message + cutText(appendix, Math.max(0, limits.messageCharacters - message.length)).text

/** Returns the id of the Turn of a delivery. */
export const turnOf = ({ trigger_id, key }: Pick<DueDelivery, 'trigger_id' | 'key'>): string =>
  derivedId('turn', trigger_id, key)

const isPassing = ({ status, code }: ApiError): boolean =>
  status >= 500 || passing.has(status) || code === 'cloud_run_in_progress'
