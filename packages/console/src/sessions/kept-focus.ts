import { type FocusEvent, useCallback } from 'react'

/** The Session whose row had the focus last. */
let focused: string | null = null

/**
 * Keeps the focus on a row that moves to another group: the browser drops it there, and the next key would begin at the
 * top. Returns the attributes of the element that takes the focus.
 */
export function useKeptFocus(id: string) {
  const ref = useCallback(
    (node: HTMLElement | null) => {
      if (node !== null && focused === id && document.activeElement === document.body) {
        node.focus({ preventScroll: true })
      }
    },
    [id],
  )
  return {
    ref,
    onFocus: () => {
      focused = id
    },
    onBlur: ({ relatedTarget }: FocusEvent) => {
      if (relatedTarget !== null) focused = null
    },
  }
}
