import type { SessionState } from '@berth/contract'
import { viewerQuery } from '../api/identity.ts'
import { queryClient } from '../api/queries.ts'
import { isLeader, isVisible } from '../live/tabs.ts'
import { onSessionState } from '../sessions/live-lists.ts'
import { printableLine } from '../ui/printable.ts'
import { notifications } from './choice.ts'
import { pushed } from './pushed.ts'

/** Notifies of Sessions while no tab of their organization is in sight, in the one that leads. @param open shows a Session in this tab */
export function startNotifying(open: (sessionId: string) => void): void {
  onSessionState((before, after) => {
    // A Session that cannot be loaded makes no notice; the list shows the change.
    if (isLeader() && notifications.active() && !isPushed()) notify(before, after, open).catch(() => undefined)
  })
  navigator.serviceWorker?.addEventListener('message', ({ data }: MessageEvent<Partial<Opening> | null>) => {
    if (data?.kind === 'berth.open' && typeof data.sessionId === 'string') open(data.sessionId)
  })
}

/** The service worker's message when somebody presses a notification. */
interface Opening {
  readonly kind: 'berth.open'
  readonly sessionId: string | null
}

/** A pushed notification is shown by this browser's worker, once. */
const isPushed = (): boolean => {
  const viewer = queryClient.getQueryData(viewerQuery.queryKey)
  return viewer !== undefined && pushed.of(viewer.membership.id) !== null
}

async function notify(
  before: SessionState | undefined,
  after: SessionState,
  open: (id: string) => void,
): Promise<void> {
  const { noticeOf } = await import('./notice.ts')
  const body = noticeOf(before, after)
  if (body === null) return
  if (await isVisible()) return
  // A later notice of the same Session takes the place of this one.
  const notification = new Notification(printableLine(after.title), { body, tag: after.id })
  notification.addEventListener('click', () => {
    focus()
    notification.close()
    open(after.id)
  })
}
