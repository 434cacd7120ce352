import { type RefCallback, useCallback, useState } from 'react'

/** Returns a ref for an element whose height is bounded, and whether the bound cuts its text. */
export function useIsCut(): readonly [RefCallback<HTMLElement>, boolean] {
  const [cut, setCut] = useState(false)
  const measured = useCallback((node: HTMLElement | null) => {
    if (node === null) return
    const observer = new ResizeObserver(() => setCut(node.scrollHeight > node.clientHeight + 1))
    observer.observe(node)
    return () => observer.disconnect()
  }, [])
  return [measured, cut]
}

/** A text of which three lines are shown. If that cuts it, a press shows the rest. */
export function Clamped({ text }: { text: string }) {
  const [open, setOpen] = useState(false)
  const [measured, cut] = useIsCut()
  return (
    <>
      <span ref={measured} className={open ? 'block' : 'line-clamp-3'}>
        {text}
      </span>
      {(cut || open) && (
        <ShowRest open={open} onToggle={() => setOpen(!open)}>
          Show the whole title
        </ShowRest>
      )}
    </>
  )
}

/** The button below a text that is cut, or was. */
export function ShowRest(props: { open: boolean; onToggle: () => void; children: string }) {
  const { open, onToggle, children } = props
  return (
    <button
      type="button"
      aria-expanded={open}
      onClick={onToggle}
      className="min-h-6 text-xs font-normal text-accent underline underline-offset-2"
    >
      {open ? 'Show less' : children}
    </button>
  )
}
