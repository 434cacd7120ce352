import type { ReactNode } from 'react'

const styles = {
  accent: 'bg-accent-soft text-accent',
  quiet: 'bg-hover text-ink-2',
  warning: 'bg-warning-soft text-warning',
} as const

/** A word for a state. */
export function Badge({ tone, children }: { tone: keyof typeof styles; children: ReactNode }) {
  return (
    <span className={`rounded-full px-2 py-0.5 text-2xs font-medium whitespace-nowrap ${styles[tone]}`}>
      {children}
    </span>
  )
}
