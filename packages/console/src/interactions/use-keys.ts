import { useEffect, useRef, useState } from 'react'
import { singleKeyOf } from '../shell/single-key.ts'
import { singleKeys } from '../theme/preference.ts'

/** A key that is on its way as a card appears was meant for something else. */
const readMs = 600

/**
 * Lets single keys press the buttons of a card, once it has been there long enough to be read. Returns whether they do
 * so now.
 */
export function useKeys(on: boolean, keys: Readonly<Record<string, () => void>>): boolean {
  const wanted = singleKeys.use() === 'on' && on
  const [live, setLive] = useState(false)
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    if (!wanted) return
    const onKey = (event: KeyboardEvent) => {
      const act = event.repeat ? undefined : latest.current[singleKeyOf(event) ?? '']
      if (act === undefined) return
      event.preventDefault()
      act()
    }
    const timer = setTimeout(() => {
      addEventListener('keydown', onKey)
      setLive(true)
    }, readMs)
    return () => {
      clearTimeout(timer)
      removeEventListener('keydown', onKey)
      setLive(false)
    }
  }, [wanted])
  return live
}
