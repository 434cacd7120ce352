import type { Session } from '@berth/client'
import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { useWaitingCount } from '../sessions/waiting-count.tsx'
import { Clamped } from '../ui/clamped.tsx'
import { printableLine } from '../ui/printable.ts'

/** The frame of something that waits for a person. It names its Session if others wait too. */
export function Card(props: {
  icon: LucideIcon
  session: Session
  title: string
  aside?: ReactNode
  children: ReactNode
  /** The person's actions. They stay in sight, however long the text is. */
  actions?: ReactNode
}) {
  const { icon: Icon } = props
  const count = useWaitingCount()
  return (
    <article className="rounded-xl border border-warning-line bg-warning-soft p-3">
      <header className="flex items-start gap-2.5">
        <Icon className="mt-0.5 size-4 shrink-0 text-warning" aria-hidden />
        <div className="min-w-0 flex-1">
          <h2 className="font-medium [overflow-wrap:anywhere]">
            <Clamped text={props.title} />
          </h2>
          {count > 1 && <p className="truncate text-xs text-ink-2">in {printableLine(props.session.title)}</p>}
        </div>
        {props.aside}
      </header>
      <div className="mt-2.5 flex flex-col gap-2.5">{props.children}</div>
      {props.actions !== undefined && (
        <div className="sticky bottom-0 -mx-3 -mb-3 flex flex-wrap gap-1.5 rounded-b-xl bg-warning-soft px-3 pt-2.5 pb-3">
          {props.actions}
        </div>
      )}
    </article>
  )
}
