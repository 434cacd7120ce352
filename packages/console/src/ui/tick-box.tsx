import type { ComponentProps, ReactNode } from 'react'

/** A box to tick, with its meaning below the name. */
export function TickBox(
  props: Omit<ComponentProps<'input'>, 'type' | 'children'> & { means?: ReactNode; children: ReactNode },
) {
  const { means, children, title, ...rest } = props
  return (
    <label className="flex items-start gap-2.5 text-[0.8125rem]" title={title}>
      <input type="checkbox" className="mt-0.5 size-4 shrink-0 accent-accent" {...rest} />
      <span className="min-w-0">
        {children}
        {means !== undefined && <span className="block text-xs text-ink-3">{means}</span>}
      </span>
    </label>
  )
}
