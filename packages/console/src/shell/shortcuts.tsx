import { useRouter } from '@tanstack/react-router'
import { lazy, Suspense, useEffect } from 'react'
import { to } from '../routing/to.ts'
import { showOverlay, useOverlay } from './overlay.ts'
import { singleKeyOf } from './single-key.ts'

const ShortcutList = lazy(async () => ({ default: (await import('./shortcut-list.tsx')).ShortcutList }))

/** Where `g` and another key lead. */
const places: Readonly<Record<string, { readonly to: string }>> = {
  s: to.sessions(),
  p: to.pullRequests(),
  e: to.environments(),
  o: to.organization(),
}
/** Two keys that are further apart are two shortcuts. */
const betweenKeysMs = 1_500

/** The keys that work on every page, and the list of all of them. */
export function ShortcutKeys() {
  const router = useRouter()
  const overlay = useOverlay()
  useEffect(() => {
    let begunAt = Number.NEGATIVE_INFINITY
    // Ahead of the page, for which the second key means something else.
    const onSecondKey = (event: KeyboardEvent) => {
      const key = singleKeyOf(event)
      const place = event.timeStamp - begunAt < betweenKeysMs ? places[key ?? ''] : undefined
      begunAt = key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY
      if (place === undefined) return
      event.preventDefault()
      event.stopPropagation()
      void router.navigate(place)
    }
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        return showOverlay('palette')
      }
      const key = singleKeyOf(event)
      if (key === '?') return showOverlay('shortcuts')
      if (key === 'c') {
        event.preventDefault()
        void router.navigate(to.newSession())
      }
      if (key === 'j' || key === 'k') moveFocus(key === 'j' ? 1 : -1)
    }
    addEventListener('keydown', onSecondKey, true)
    addEventListener('keydown', onKey)
    return () => {
      removeEventListener('keydown', onSecondKey, true)
      removeEventListener('keydown', onKey)
    }
  }, [router])
  if (overlay !== 'shortcuts') return null
  return (
    <Suspense>
      <ShortcutList />
    </Suspense>
  )
}

/** Moves the focus along the page's list: elements that carry `data-list-item`. */
function moveFocus(step: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-list-item]')]
  const at = items.findIndex(item => item.matches(':focus'))
  const next = items[at === -1 ? (step === 1 ? 0 : items.length - 1) : at + step]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}
