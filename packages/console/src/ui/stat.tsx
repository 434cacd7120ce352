import type { ReactNode } from 'react'

/** Numbers in a row, two abreast on phones. */
export function Stats({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">{children}</dl>
}

/** One number with its name and an explanation. */
export function Stat(props: { name: string; value: string; about: string; tone?: 'plain' | 'warning' | 'bad' }) {
  const ink = { plain: '', warning: 'text-warning', bad: 'text-bad' }[props.tone ?? 'plain']
  return (
    <div className="flex flex-col gap-0.5 rounded-xl border border-line px-4 py-3">
      <dt className="text-xs text-ink-3">{props.name}</dt>
      <dd className={`text-xl font-semibold tracking-tight tabular-nums ${ink}`}>{props.value}</dd>
      <dd className="text-2xs text-ink-3">{props.about}</dd>
    </div>
  )
}
