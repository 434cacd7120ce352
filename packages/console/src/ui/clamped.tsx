import { useCallback, useState } from 'react'

/** A text of which three lines are shown. If that cuts it, a press shows the rest. */
export function Clamped({ text }: { text: string }) {
  const [open, setOpen] = useState(false)
  const [cut, setCut] = useState(false)
  const measured = useCallback((node: HTMLElement | null) => {
    if (node === null) return
    const observer = new ResizeObserver(() => setCut(node.scrollHeight > node.clientHeight + 1))
    observer.observe(node)
    return () => observer.disconnect()
  }, [])
  return (
    <>
      <span ref={measured} className={open ? 'block' : 'line-clamp-3'}>
        {text}
      </span>
      {(cut || open) && (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="min-h-6 text-xs font-normal text-accent underline underline-offset-2"
        >
          {open ? 'Show less' : 'Show the whole title'}
        </button>
      )}
    </>
  )
}
