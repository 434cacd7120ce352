import type { Session } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { type Panel, panels, to } from '../routing/to.ts'
import { LoadingLines } from '../ui/states.tsx'
import { Details } from './details.tsx'

const Changes = lazy(async () => ({ default: (await import('../changes/changes.tsx')).Changes }))

const labels: Readonly<Record<Panel, string>> = { changes: 'Changes', details: 'Details' }

/** What came of a Session, beside its transcript. */
export function WorkPanel({ session, panel }: { session: Session; panel: Panel }) {
  return (
    <>
      <nav aria-label="Work" className="flex h-11 shrink-0 items-center gap-1 border-b border-line px-3">
        {panels.map(name => (
          <Link
            key={name}
            {...to.session(session.id, { panel: name })}
            replace
            aria-current={name === panel ? 'true' : undefined}
            className="flex h-8 items-center rounded-md px-2.5 text-[0.8125rem] text-ink-2 hover:bg-hover aria-[current=true]:bg-selected aria-[current=true]:font-medium aria-[current=true]:text-ink"
          >
            {labels[name]}
          </Link>
        ))}
        <Link
          {...to.session(session.id)}
          aria-label="Close the panel"
          className="ml-auto grid size-8 place-items-center rounded-md text-ink-2 hover:bg-hover"
        >
          <X className="size-4" aria-hidden />
        </Link>
      </nav>
      <div className="min-h-0 flex-1 overflow-y-auto">
        {panel === 'changes' ? (
          <Suspense fallback={<LoadingLines label="the changes" />}>
            <Changes session={session} />
          </Suspense>
        ) : (
          <Details session={session} />
        )}
      </div>
    </>
  )
}
