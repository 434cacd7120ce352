// The page's service worker: it shows what is pushed, and keeps nothing. Without a listener for `fetch`, it is in the way of
// no request.

/** What nobody sees, or what changes the reading order: whoever names a Session hides nothing in a notification. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const plain = text => String(text).replace(hidden, '·').slice(0, 320)
const windows = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true })

self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('push', event => event.waitUntil(show(event.data)))
self.addEventListener('notificationclick', event => {
  event.notification.close()
  event.waitUntil(open(event.notification.data.sessionId))
})

async function show(data) {
  const { title, body, sessionId, membershipId } = data.json()
  // A tab of the membership that somebody looks at shows it by itself. It holds this lock (live/tabs.ts).
  const { held } = await navigator.locks.query()
  if (sessionId !== null && held.some(({ name }) => name === `berth.in-sight.${membershipId}`)) return
  // A later notification of the same Session takes the place of this one.
  const tag = sessionId ?? 'berth.test'
  await self.registration.showNotification(plain(title), {
    body: plain(body),
    icon: '/icon-192.png',
    tag,
    data: { sessionId },
  })
}

async function open(sessionId) {
  const path = sessionId === null ? '/settings/notifications' : `/sessions/${encodeURIComponent(sessionId)}`
  const tabs = await windows()
  const tab = tabs.find(({ url }) => new URL(url).pathname === path) ?? tabs[0]
  if (tab === undefined) return self.clients.openWindow(path)
  // The page goes there without being loaded anew.
  tab.postMessage({ kind: 'berth.open', sessionId })
  return tab.focus()
}
