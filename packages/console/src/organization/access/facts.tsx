import { Fragment, type ReactNode } from 'react'

/** Names and values of one thing. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[7.5rem_minmax(0,1fr)] gap-y-2 text-[0.8125rem]">
      {facts.map(([name, value]) => (
        <Fragment key={name}>
          <dt className="text-ink-3">{name}</dt>
          <dd className="min-w-0 [overflow-wrap:anywhere]">{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

/** A titled part of a page, with actions at its right. */
export function Part(props: { id: string; title: string; hint?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const { id, title, hint, actions, children } = props
  return (
    <section aria-labelledby={id} className="flex flex-col gap-3 border-t border-line pt-6 first:border-0 first:pt-0">
      <div className="flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1">
          <h2 id={id} className="text-sm font-semibold">
            {title}
          </h2>
          {hint !== undefined && <p className="mt-0.5 max-w-prose text-xs text-ink-3">{hint}</p>}
        </div>
        {actions}
      </div>
      {children}
    </section>
  )
}
