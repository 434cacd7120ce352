import type { Session } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { type Panel, panels, to } from '../routing/to.ts'
import { TerminalPanel } from '../terminal/terminal-panel.tsx'
import { scrollCurrentIntoView } from '../ui/scroll-current-into-view.ts'
import { LoadingLines } from '../ui/states.tsx'
import { Details } from './details.tsx'

const Changes = lazy(async () => ({ default: (await import('../changes/changes.tsx')).Changes }))

const Artifacts = lazy(async () => ({ default: (await import('../artifacts/artifacts-panel.tsx')).Artifacts }))
const Ports = lazy(async () => ({ default: (await import('../ports/ports-panel.tsx')).Ports }))
const Files = lazy(async () => ({ default: (await import('../files/files-panel.tsx')).Files }))

const labels: Readonly<Record<Panel, string>> = {
  changes: 'Changes',
  files: 'Files',
  preview: 'Preview',
  artifacts: 'Artifacts',
  terminal: 'Terminal',
  details: 'Details',
}

/** The results of a Session, next to its transcript. */
export function WorkPanel({ session, panel }: { session: Session; panel: Panel }) {
  return (
    <>
      <nav aria-label="Work" className="flex h-11 shrink-0 items-center gap-1 border-b border-line pr-3">
        {/* On a phone the names are wider than the window; the button behind them stays. */}
        <div
          ref={row => scrollCurrentIntoView(row)}
          className="flex min-w-0 flex-1 scroll-px-3 gap-1 overflow-x-auto py-1 pl-3"
        >
          {panels.map(name => (
            <Link
              key={name}
              {...to.session(session.id, { panel: name })}
              replace
              aria-current={name === panel ? 'true' : undefined}
              className={`flex h-8 shrink-0 items-center rounded-md px-2.5 text-[0.8125rem] ${name === panel ? 'bg-selected font-medium text-ink' : 'text-ink-2 hover:bg-hover'}`}
            >
              {labels[name]}
            </Link>
          ))}
        </div>
        <Link
          {...to.session(session.id)}
          aria-label="Close the panel"
          className="grid size-8 shrink-0 place-items-center rounded-md text-ink-2 hover:bg-hover"
        >
          <X className="size-4" aria-hidden />
        </Link>
      </nav>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <Suspense fallback={<LoadingLines label={labels[panel]} />}>
          {panel === 'changes' && <Changes session={session} />}
          {panel === 'files' && <Files session={session} />}
          {panel === 'artifacts' && <Artifacts session={session} />}
          {panel === 'preview' && <Ports session={session} />}
          {panel === 'terminal' && <TerminalPanel session={session} />}
          {panel === 'details' && <Details session={session} />}
        </Suspense>
      </div>
    </>
  )
}
