import type { Review, Session } from '@berth/client'
import { formatDuration } from '@berth/client/transcript'
import { Link } from '@tanstack/react-router'
import {
  ChevronRight,
  CircleAlert,
  CircleDashed,
  CircleStop,
  LoaderCircle,
  type LucideIcon,
  RotateCw,
  ShieldCheck,
  ShieldX,
} from 'lucide-react'
import { useState } from 'react'
import { applyReason } from '../environments/apply-reasons.ts'
import { to } from '../routing/to.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { TerminalText } from '../transcript/terminal-text.tsx'
import { Button } from '../ui/button.tsx'
import { useMinute } from '../ui/clock.ts'
import { ago } from '../ui/format.ts'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { CheckRows } from './check-rows.tsx'
import { type CheckOutcomeKind, isOpen } from './outcome.ts'
import { countsText, outcomeText } from './outcome-text.ts'
import { type UseVerification, useVerification } from './use-verification.ts'

const styles: Readonly<Record<CheckOutcomeKind, readonly [word: string, tone: string, icon: LucideIcon]>> = {
  none: ['Not verified', 'text-ink-3', CircleDashed],
  other: ['Not verified', 'text-warning', CircleAlert],
  open: ['Verifying', 'text-accent', LoaderCircle],
  passed: ['Verified', 'text-good', ShieldCheck],
  failed: ['Not verified', 'text-bad', ShieldX],
  outdated: ['Not verified', 'text-warning', CircleAlert],
  errored: ['Not verified', 'text-warning', CircleAlert],
  cancelled: ['Not verified', 'text-ink-3', CircleStop],
}

/** The checks of the environment on the changes on screen: begun here, followed live, and judged in words. */
export function VerificationSection({ session, review }: { session: Session; review: Review }) {
  const verification = useVerification(session, review)
  const { outcome, all, hasChecks, isKnown, problem } = verification
  const [chosen, choose] = useState<boolean | null>(null)
  if (!isKnown && problem === null) return null
  // Without checks, the page says elsewhere how to add some.
  if (!hasChecks && all.length === 0 && problem === null) return null
  const [word, tone, Icon] = styles[outcome.kind]
  const open = chosen ?? (outcome.kind === 'open' || outcome.kind === 'failed' || outcome.kind === 'errored')
  const counts = outcome.by === null || outcome.kind === 'other' ? null : countsText(outcome.by)
  return (
    <section aria-label="Verification" className="shrink-0 border-b border-line bg-surface text-xs">
      <div className="flex min-h-9 items-center gap-1.5 pr-2">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => choose(!open)}
          className="flex min-h-9 min-w-0 flex-1 items-center gap-1.5 pl-3 text-left text-ink-2 hover:bg-hover"
        >
          <ChevronRight className={`size-3.5 shrink-0 text-ink-3 ${open ? 'rotate-90' : ''}`} aria-hidden />
          <Icon
            className={`size-4 shrink-0 ${tone} ${outcome.kind === 'open' ? 'motion-safe:animate-spin' : ''}`}
            aria-hidden
          />
          <span className="flex min-w-0 flex-wrap gap-x-1.5 py-1">
            <span className="font-medium text-ink">{word}</span>
            {counts !== null && <span className="text-ink-3">{counts}</span>}
          </span>
        </button>
        <p role="status" className="sr-only">
          {word}
          {counts !== null && `: ${counts}`}
        </p>
        <Actions session={session} verification={verification} />
      </div>
      <Problems verification={verification} />
      {open && <Outcome review={review} verification={verification} />}
    </section>
  )
}

function Problems({ verification: { problem, begin, cancel } }: { verification: UseVerification }) {
  const error = begin.error ?? cancel.error ?? problem
  if (error === null) return null
  return (
    <div className="px-3 pb-2">
      <InlineProblem error={error} />
    </div>
  )
}

function Actions({ session, verification }: { session: Session; verification: UseVerification }) {
  const { outcome, begin, cancel, hasChecks } = verification
  const can = useSessionCan(session)('verify')
  const { by, kind } = outcome
  if (by !== null && isOpen(by) && kind === 'open') {
    return (
      <Button verdict={can} busy={cancel.isPending} className="h-7!" onClick={() => cancel.mutate(by.id)}>
        <CircleStop className="size-3.5" aria-hidden /> Cancel
      </Button>
    )
  }
  const verdict = !can.allowed || hasChecks ? can : noChecks
  const isOver = kind === 'passed' || kind === 'failed'
  return (
    <Button
      verdict={verdict}
      busy={begin.isPending}
      className="h-7!"
      onClick={() => begin.mutate(isOver ? { fresh: true } : {})}
    >
      {isOver ? <RotateCw className="size-3.5" aria-hidden /> : <ShieldCheck className="size-3.5" aria-hidden />}
      {isOver ? 'Run again' : 'Verify'}
    </Button>
  )
}

const noChecks = { allowed: false, reason: 'The environment has no checks any more.' } as const

/** Shows whether the checks ran on the changes that would be published, and how each check went. */
function Outcome({ review, verification }: { review: Review; verification: UseVerification }) {
  const { outcome, environment, required } = verification
  const { by, kind } = outcome
  return (
    <div className="flex max-h-[45vh] flex-col gap-2 overflow-y-auto px-3 pb-2.5 text-ink-2">
      <p className="max-w-prose text-pretty">
        {printableLine(outcomeText(outcome, review, environment))}
        {required && kind !== 'passed' && ' The environment publishes nothing that its checks have not passed.'}
      </p>
      {by !== null && (
        <>
          <Provenance verification={verification} />
          {by.error !== undefined && (
            <div className="rounded-md border border-warning-line bg-warning-soft px-2.5 py-1.5">
              <p>{applyReason(by.error.code)}</p>
              {by.error.outputTail !== undefined && (
                <TerminalText text={by.error.outputTail} atEnd className="max-h-40" label="Output of the setup" />
              )}
            </div>
          )}
          {by.checks.length > 0 && <CheckRows verification={by} />}
        </>
      )}
    </div>
  )
}

/** When and by which environment it was checked, and whether the results are those of an earlier verification. */
function Provenance({ verification: { outcome, environment, all } }: { verification: UseVerification }) {
  const now = useMinute()
  const { by } = outcome
  if (by === null) return null
  const before = by.reusedFrom === undefined ? undefined : all.find(({ id }) => id === by.reusedFrom)
  const when = (at: string) => {
    const text = ago(Date.parse(at), now)
    return text === 'now' ? 'just now' : /^\d+ (?:min|h|d)$/.test(text) ? `${text} ago` : `on ${text}`
  }
  const took =
    by.startedAt === undefined || by.completedAt === undefined || by.reusedFrom !== undefined
      ? ''
      : ` in ${formatDuration(Date.parse(by.completedAt) - Date.parse(by.startedAt))}`
  return (
    <p className="text-ink-3">
      {by.completedAt === undefined ? `Asked for ${when(by.createdAt)}` : `Ended ${when(by.completedAt)}${took}`}
      {environment !== null && (
        <>
          , by{' '}
          <Link {...to.environment(environment.id)} className="text-accent underline underline-offset-2">
            {printableLine(environment.name)}
          </Link>
        </>
      )}
      .
      {by.reusedFrom !== undefined &&
        ` The same checks had run on the same files ${before?.completedAt === undefined ? 'before' : when(before.completedAt)}: these are their results. Run again runs them anew.`}
    </p>
  )
}
