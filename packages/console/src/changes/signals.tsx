import type { Review } from '@berth/client'
import { signalLabel, signalMore } from '@berth/contract/signal-labels'
import { ChevronRight, TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { counted } from '../ui/format.ts'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { type LineOfFile, markOf, type Signal } from './signal-lines.ts'
import { useViewed } from './viewed.ts'

/** So many are drawn until somebody asks for the others. */
const drawn = 100

/** The facts of a change that its readers must not miss. A press leads to the line; each can be marked as seen. */
export function Signals(props: { sessionId: string; review: Review; onGo: (at: number, line?: LineOfFile) => void }) {
  const { sessionId, review, onGo } = props
  const viewed = useViewed(sessionId)
  const [chosen, setChosen] = useState<boolean | null>(null)
  const [all, setAll] = useState(false)
  const signals = review.signals.map(signal => ({ signal, seen: viewed.has(markOf(signal), signal.digest) }))
  if (signals.length === 0) return null
  const left = signals.filter(({ seen }) => !seen).length
  const open = chosen ?? left > 0
  const shown = all ? signals : signals.slice(0, drawn)
  return (
    <section aria-label="Signals" className="shrink-0 border-b border-line bg-surface text-xs">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setChosen(!open)}
        className="flex h-8 w-full items-center gap-1.5 px-3 text-left text-ink-2 hover:bg-hover"
      >
        <ChevronRight className={`size-3.5 shrink-0 text-ink-3 ${open ? 'rotate-90' : ''}`} aria-hidden />
        {left > 0 && <TriangleAlert className="size-3.5 shrink-0 text-warning" aria-hidden />}
        <span className="font-medium">{counted(signals.length, 'signal')}</span>
        <span className="text-ink-3">{left === 0 ? 'all seen' : `${left} not seen`}</span>
      </button>
      {viewed.problem !== null && (
        <div className="px-3 pb-2">
          <InlineProblem error={viewed.problem} />
        </div>
      )}
      {open && (
        <ul className="max-h-36 overflow-y-auto pb-1.5">
          {shown.map(({ signal, seen }) => (
            <SignalRow
              key={markOf(signal)}
              signal={signal}
              seen={seen}
              onGo={line =>
                onGo(
                  review.files.findIndex(({ path }) => path === signal.path),
                  line,
                )
              }
              onSee={is => viewed.set(markOf(signal), signal.digest, is)}
            />
          ))}
          {shown.length < signals.length && (
            <li className="px-3">
              <button type="button" onClick={() => setAll(true)} className="h-7 font-medium text-accent">
                Show {counted(signals.length - shown.length, 'more signal')}
              </button>
            </li>
          )}
        </ul>
      )}
    </section>
  )
}

function SignalRow(props: {
  signal: Signal
  seen: boolean
  onGo: (line?: LineOfFile) => void
  onSee: (seen: boolean) => void
}) {
  const { signal, seen, onGo, onSee } = props
  const path = printableLine(signal.path)
  const name = signalLabel(signal.kind)
  const [first, ...others] = signal.lines
  return (
    <li className="flex min-h-7 items-start gap-x-2 px-3 py-0.5 leading-6">
      <span className="flex min-w-0 flex-1 flex-wrap gap-x-2">
        <span className={`shrink-0 sm:w-52 ${seen ? 'text-ink-3' : 'font-medium text-ink'}`}>{name}</span>
        <span className="min-w-0 font-mono break-all">
          <button type="button" onClick={() => onGo(first)} className="text-left text-accent hover:underline">
            {path}
            {first !== undefined && `:${first.number}`}
          </button>
          {others.map(line => (
            <span key={`${line.side} ${line.number}`}>
              {', '}
              <button
                type="button"
                aria-label={`${path}:${line.number}`}
                onClick={() => onGo(line)}
                className="text-accent hover:underline"
              >
                {line.number}
              </button>
            </span>
          ))}
          <span className="text-ink-3">
            {signalMore(signal)}
            {signal.detail !== undefined && ` ${printableLine(signal.detail)}`}
          </span>
        </span>
      </span>
      <label className="flex shrink-0 cursor-pointer items-center gap-1.5 text-ink-2">
        <input
          type="checkbox"
          className="accent-accent"
          aria-label={`Seen: ${name}, ${path}`}
          checked={seen}
          onChange={event => onSee(event.target.checked)}
        />
        <span aria-hidden>Seen</span>
      </label>
    </li>
  )
}
