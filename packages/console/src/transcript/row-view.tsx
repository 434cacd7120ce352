import type { EndRow, LiveRow, NoticeRow, PromptRow, Row } from '@berth/client/transcript'
import { Ban, CircleAlert, CircleCheck, CircleX, Sparkle } from 'lucide-react'
import { lazy, memo, Suspense } from 'react'
import { ShowRest, useIsCut } from '../ui/clamped.tsx'
import { printable, printableLine } from '../ui/printable.ts'
import { Markdown } from './markdown.tsx'
import { useUnfolded } from './open-rows.ts'
import { outcomeText } from './run-outcome.ts'
import { Steps } from './steps.tsx'

const EndChanges = lazy(async () => ({ default: (await import('./end-changes.tsx')).EndChanges }))
const EndRest = lazy(async () => ({ default: (await import('./end-rest.tsx')).EndRest }))
const LoggedLine = lazy(async () => ({ default: (await import('./logged-line.tsx')).LoggedLine }))

/** One row of a transcript. */
export const RowView = memo(function RowView({ row, sessionId }: { row: Row; sessionId: string }) {
  switch (row.kind) {
    case 'prompt':
      return <Prompt row={row} scope={sessionId} />
    case 'reply':
      return (
        <article aria-label="Agent" className="grid grid-cols-[1.25rem_minmax(0,1fr)] gap-2.5 pt-2">
          <Sparkle className="mt-1 size-4 text-accent" aria-hidden />
          <div>
            <Markdown text={row.text} />
            {row.truncated && <Cut />}
          </div>
        </article>
      )
    case 'live':
      return <Live row={row} />
    case 'steps':
      return (
        <div className="pl-[1.5rem]">
          <Steps row={row} scope={sessionId} />
        </div>
      )
    case 'end':
      return (
        <>
          <End row={row} sessionId={sessionId} />
          {row.changes !== undefined && row.changes.files > 0 && (
            <Suspense fallback={<div className="mb-4 h-11" />}>
              <EndChanges sessionId={sessionId} changes={row.changes} />
            </Suspense>
          )}
        </>
      )
    case 'notice':
      if (!row.blocked && !row.ongoing) return <Notice row={row} scope={sessionId} />
  }
  return (
    <Suspense fallback={<div className={row.kind === 'artifact' ? 'h-11.5' : 'h-7'} />}>
      <LoggedLine row={row} sessionId={sessionId} />
    </Suspense>
  )
})

/** Grows while the agent writes. Nothing announces it: a reader hears the message once it is whole. */
function Live({ row }: { row: LiveRow }) {
  if (row.role === 'reasoning')
    return (
      <p className="ml-[1.875rem] border-l-2 border-line-strong pl-3 text-[0.8125rem] whitespace-pre-wrap text-ink-3 [overflow-wrap:anywhere]">
        {printable(row.text.slice(-2000))}
      </p>
    )
  return (
    <div className="grid grid-cols-[1.25rem_minmax(0,1fr)] gap-2.5 pt-2" data-live>
      <Sparkle className="mt-1 size-4 animate-pulse text-accent motion-reduce:animate-none" aria-hidden />
      <Markdown text={row.text} />
    </div>
  )
}

function Cut() {
  return <p className="mt-1 text-xs text-ink-3">Cut to the size that the log keeps.</p>
}

/** A message of a person. A long one shows its beginning, because people return for the agent's reply. */
function Prompt({ row, scope }: { row: PromptRow; scope: string }) {
  const [unfolded, toggle] = useUnfolded(`${scope}/${row.key}`)
  const [measured, isCut] = useIsCut()
  return (
    <article aria-label="You" className="flex justify-end pt-4 pb-1">
      <div className="max-w-[85%] rounded-2xl rounded-br-md bg-accent-soft px-3.5 py-2 leading-relaxed [overflow-wrap:anywhere] whitespace-pre-wrap">
        <div ref={measured} dir="auto" className={unfolded ? '' : 'line-clamp-12'}>
          {printable(row.text.trim())}
        </div>
        {(isCut || unfolded) && (
          <ShowRest open={unfolded} onToggle={toggle}>
            Show the whole message
          </ShowRest>
        )}
        {row.truncated && <Cut />}
      </div>
    </article>
  )
}

const ends = {
  completed: [CircleCheck, 'text-good', ''],
  limited: [CircleAlert, 'text-warning', 'text-warning'],
  failed: [CircleX, 'text-bad', 'text-bad'],
  cancelled: [Ban, 'text-ink-3', ''],
  crashed: [CircleX, 'text-bad', 'text-bad'],
} as const

function End({ row, sessionId }: { row: EndRow; sessionId: string }) {
  const text = outcomeText(row)
  const [Icon, tone, ink] = ends[text === 'Finished' || row.outcome !== 'completed' ? row.outcome : 'limited']
  return (
    <div className="flex flex-wrap items-center gap-2 pt-2 pb-4 text-xs text-ink-3">
      <Icon className={`ml-0.5 size-3.5 shrink-0 ${tone}`} aria-hidden />
      <span className={ink}>{text}</span>
      <Suspense>
        <EndRest row={row} sessionId={sessionId} goesOn={text !== 'Finished'} />
      </Suspense>
      <span aria-hidden className="h-px flex-1 bg-line" />
    </div>
  )
}

const tones = { quiet: 'text-ink-3', good: 'text-good', warning: 'text-warning', bad: 'text-bad' } as const

function Notice({ row, scope }: { row: NoticeRow; scope: string }) {
  const [unfolded, toggle] = useUnfolded(`${scope}/notice/${row.key}`)
  const text = (
    <span className={`flex min-w-0 items-center gap-1.5 ${tones[row.tone]}`}>
      {(row.tone === 'bad' || row.tone === 'warning') && <CircleAlert className="size-3.5 shrink-0" aria-hidden />}
      <span className="min-w-0">{printableLine(row.text)}</span>
    </span>
  )
  return (
    <div className={`text-xs ${row.detail === undefined ? 'py-1' : 'py-2'}`}>
      <div className="flex items-center gap-3">
        <span aria-hidden className="h-px flex-1 bg-line" />
        {row.detail === undefined ? (
          text
        ) : (
          <button
            type="button"
            onClick={toggle}
            aria-expanded={unfolded}
            className="-my-1 min-h-6 min-w-0 underline decoration-line-strong underline-offset-3"
          >
            {text}
          </button>
        )}
        {row.link !== undefined && (
          <a href={row.link.url} target="_blank" rel="noopener noreferrer nofollow" className="text-accent underline">
            {printableLine(row.link.label)}
          </a>
        )}
        <span aria-hidden className="h-px flex-1 bg-line" />
      </div>
      {unfolded && row.detail !== undefined && (
        <pre
          tabIndex={0}
          className="mt-2 max-h-72 overflow-auto rounded-md border border-line bg-code px-2.5 py-2 font-mono whitespace-pre-wrap"
        >
          {printable(row.detail)}
        </pre>
      )}
    </div>
  )
}
