import { Bell, BellOff } from 'lucide-react'
import { useState } from 'react'
import { notifications } from '../notifications/choice.ts'
import type { Verdict } from '../session/session-can.ts'
import { Button } from '../ui/button.tsx'
import { Page, Title } from '../ui/page.tsx'
import { PushSection } from './push-section.tsx'

/** Returns whether this browser can show notifications at all. */
function verdictOf(permission: NotificationPermission | null): Verdict {
  if (permission === null) {
    return { allowed: false, reason: 'This browser shows notifications only of pages that are served over https.' }
  }
  if (permission === 'denied') {
    return { allowed: false, reason: 'You have refused notifications. Allow them for this page in the browser first.' }
  }
  return { allowed: true }
}

/** Whether this browser tells a person who looks elsewhere that an agent waits or has finished. */
export function NotificationsPage() {
  const on = notifications.use()
  const [permission, setPermission] = useState(notifications.permission)
  const turnOn = async () => {
    const answer = await Notification.requestPermission()
    setPermission(answer)
    if (answer === 'granted') notifications.choose(true)
  }
  const active = on && permission === 'granted'
  return (
    <Page title="Notifications">
      <Title>Notifications</Title>
      <div className="flex max-w-lg flex-col gap-9">
        <section aria-labelledby="tabs" className="flex flex-col items-start gap-4">
          <h2 id="tabs" className="text-[0.9375rem] font-semibold">
            While a tab is open
          </h2>
          <p className="text-ink-2">
            While no tab of Berth is in sight, this browser can tell you when a Session of yours, or one that you have
            opened or pinned, needs you or has finished.
          </p>
          <p role="status" className="flex items-center gap-2 font-medium">
            {active ? (
              <Bell className="size-4 text-good" aria-hidden />
            ) : (
              <BellOff className="size-4 text-ink-3" aria-hidden />
            )}
            {active ? 'On in this browser' : 'Off in this browser'}
          </p>
          {active ? (
            <div className="flex flex-wrap gap-2">
              <Button onClick={() => notifications.choose(false)}>Turn off</Button>
              <Button
                variant="quiet"
                onClick={() => new Notification('Berth', { body: 'This is how it looks.', tag: 'berth.trial' })}
              >
                Show one now
              </Button>
            </div>
          ) : (
            <Button variant="primary" hint="above" verdict={verdictOf(permission)} onClick={() => void turnOn()}>
              Turn on
            </Button>
          )}
        </section>
        <PushSection />
      </div>
    </Page>
  )
}
