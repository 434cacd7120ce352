import type { PushMessage } from '@berth/contract'
import type { ClaimedPush, PushNews } from './delivery-sql.ts'

/** A push service keeps a message for so long at most while the browser is away. */
const KEPT_SECONDS = 4 * 3600
const TEST_SECONDS = 60
/** Of a title; a Session's has no more. */
const TITLE_CHARACTERS = 160

/** A message, and how a push service has to treat it. */
export interface Push {
  readonly message: PushMessage
  readonly ttlSeconds: number
  readonly urgency: 'high' | 'normal'
  /** A later message of the same topic takes its place while the browser is away. */
  readonly topic: string
}

const asks = {
  approval: 'Asks to be allowed',
  ask_user: 'Asks a question',
  exit_plan_mode: 'Has a plan',
} as const

const ends = { completed: 'Has finished', stopped: 'Has stopped', failed: 'Has failed', crashed: 'Has failed' } as const

/** Returns the text of a notice: the title of the Session and the change, and nothing else that an agent wrote. */
export function pushOf({ kind, id }: Pick<ClaimedPush, 'kind' | 'id'>, news: PushNews, now: Date): Push {
  const plain = (text: string) => text.replaceAll('-', '')
  if (kind === 'test' || news.session_id === null) {
    const message = {
      title: 'Berth',
      body: 'Notifications reach this browser.',
      sessionId: null,
      membershipId: news.membership_id,
    }
    return { message, ttlSeconds: TEST_SECONDS, urgency: 'high', topic: plain(id) }
  }
  const title = [...(news.title ?? '')].slice(0, TITLE_CHARACTERS).join('')
  const body =
    news.interaction_kind !== null ? asks[news.interaction_kind] : news.run_status !== null ? ends[news.run_status] : ''
  const left = news.deadline === null ? KEPT_SECONDS : (news.deadline.getTime() - now.getTime()) / 1000
  return {
    message: { title, body, sessionId: news.session_id, membershipId: news.membership_id },
    ttlSeconds: Math.max(0, Math.min(KEPT_SECONDS, Math.floor(left))),
    urgency: kind === 'needs_you' ? 'high' : 'normal',
    topic: plain(news.session_id),
  }
}
