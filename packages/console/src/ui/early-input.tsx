import { Search } from 'lucide-react'
import type { RefObject } from 'react'

let opener: Element | null = null

/** Returns the element that had the focus before a box of this kind took it; null if none is shown. */
export const openerOfEarlyInput = (): Element | null => opener

function takeFocus(input: HTMLInputElement) {
  opener = document.activeElement
  input.focus()
  return () => {
    opener = null
  }
}

/**
 * The box of a search whose code is still on its way. Without it, keys that somebody types at once would go to the single keys of
 * the page. The search begins with the text that is in `typed` then.
 */
export function EarlyInput(props: {
  label: string
  typed: RefObject<string>
  className: string
  inputClass: string
  onClose: () => void
}) {
  const { label, typed, className, inputClass, onClose } = props
  return (
    <div className={className}>
      <Search className="size-4 shrink-0 text-ink-3" aria-hidden />
      <input
        type="search"
        ref={takeFocus}
        aria-label={label}
        placeholder={label}
        onChange={event => {
          typed.current = event.target.value
        }}
        onKeyDown={event => event.key === 'Escape' && !event.nativeEvent.isComposing && onClose()}
        className={`min-w-0 flex-1 bg-transparent outline-none ${inputClass}`}
      />
    </div>
  )
}
