import type { Command } from './commands.ts'

/** The commands that a message may be the beginning of, above the box that has the focus. */
export function CommandList(props: {
  id: string
  offers: readonly Command[]
  at: number
  onChoose: (line: string) => void
}) {
  const { id, offers, at, onChoose } = props
  return (
    <div
      id={id}
      role="listbox"
      aria-label="Commands"
      className="absolute inset-x-0 bottom-full mb-1.5 overflow-hidden rounded-lg border border-line bg-raised py-1 shadow-float"
    >
      {offers.map(({ line, what }, index) => (
        <div
          key={line}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          onPointerDown={event => {
            event.preventDefault()
            onChoose(line)
          }}
          className="flex cursor-default items-baseline gap-3 px-3 py-1.5 text-[0.8125rem] aria-selected:bg-selected"
        >
          <span className="w-20 shrink-0 font-mono">{line}</span>
          <span className="min-w-0 truncate text-ink-2">{what}</span>
        </div>
      ))}
    </div>
  )
}
