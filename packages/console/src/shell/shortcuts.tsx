import { useRouter } from '@tanstack/react-router'
import { lazy, Suspense, useEffect } from 'react'
import { to } from '../routing/to.ts'
import { showOverlay, useOverlay } from './overlay.ts'

const ShortcutList = lazy(async () => ({ default: (await import('./shortcut-list.tsx')).ShortcutList }))

/** Returns true where keys are text. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.closest('input, textarea, select, [contenteditable], [role=dialog]') !== null
  )
}

/** The keys that work on every page, and the list of all of them. */
export function ShortcutKeys() {
  const router = useRouter()
  const overlay = useOverlay()
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        return showOverlay('palette')
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
      if (event.key === '?') return showOverlay('shortcuts')
      if (event.key === 'c') {
        event.preventDefault()
        void router.navigate(to.newSession())
      }
      if (event.key === 'j' || event.key === 'k') moveFocus(event.key === 'j' ? 1 : -1)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [router])
  if (overlay !== 'shortcuts') return null
  return (
    <Suspense>
      <ShortcutList />
    </Suspense>
  )
}

/** Moves the focus along whatever the page lists: elements that carry `data-list-item`. */
function moveFocus(step: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-list-item]')]
  const at = items.findIndex(item => item.matches(':focus'))
  const next = items[at === -1 ? (step === 1 ? 0 : items.length - 1) : at + step]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}
