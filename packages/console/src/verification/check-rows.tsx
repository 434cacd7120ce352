import type { CheckResult, Verification } from '@berth/client'
import { formatDuration } from '@berth/client/transcript'
import { Link } from '@tanstack/react-router'
import {
  ChevronRight,
  CircleCheck,
  CircleDashed,
  CircleMinus,
  CircleX,
  LoaderCircle,
  type LucideIcon,
} from 'lucide-react'
import { useState } from 'react'
import { Badge } from '../environments/badge.tsx'
import { to } from '../routing/to.ts'
import { TerminalText } from '../transcript/terminal-text.tsx'
import { useSecond } from '../ui/clock.ts'
import { printableLine } from '../ui/printable.ts'

const styles: Readonly<Record<string, readonly [word: string, tone: string, icon: LucideIcon]>> = {
  passed: ['passed', 'text-good', CircleCheck],
  failed: ['failed', 'text-bad', CircleX],
  running: ['running', 'text-accent', LoaderCircle],
  skipped: ['left out: none of its paths changed', 'text-ink-3', CircleMinus],
  waiting: ['waits', 'text-ink-3', CircleDashed],
}

/** The checks of a verification in their order. A press shows the end of what one wrote; failures show it at once. */
export function CheckRows({ verification }: { verification: Verification }) {
  return (
    <ul aria-label="Checks of the verification" className="flex flex-col rounded-md border border-line">
      {verification.checks.map((check, at) => (
        <CheckRow key={`${at} ${check.name}`} sessionId={verification.sessionId} check={check} />
      ))}
    </ul>
  )
}

function CheckRow({ sessionId, check }: { sessionId: string; check: CheckResult }) {
  const { name, state, required, outputTail, artifactId } = check
  const [chosen, choose] = useState<boolean | null>(null)
  const [word, tone, Icon] = styles[state] ?? [state, 'text-ink-3', CircleDashed]
  const hasOutput = (outputTail ?? '') !== ''
  const open = hasOutput && (chosen ?? (state === 'failed' || state === 'running'))
  const line = (
    <>
      <Icon
        className={`size-4 shrink-0 ${tone} ${state === 'running' ? 'motion-safe:animate-spin' : ''}`}
        aria-hidden
      />
      <span className="min-w-0 font-medium wrap-anywhere">{printableLine(name)}</span>
      <span className={tone}>{word}</span>
      {state === 'failed' && <span className="text-ink-2">{failureText(check)}</span>}
      {!required && <Badge tone="quiet">Not required</Badge>}
      <span className="ml-auto shrink-0 text-ink-3 tabular-nums">
        <Took check={check} />
      </span>
    </>
  )
  const rowStyle = 'flex min-h-8 w-full flex-wrap items-center gap-x-2 gap-y-0.5 px-2.5 py-1 text-left text-xs'
  return (
    <li className="not-last:border-b not-last:border-line">
      {hasOutput ? (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => choose(!open)}
          className={`${rowStyle} rounded-md hover:bg-hover`}
        >
          <ChevronRight className={`size-3.5 shrink-0 text-ink-3 ${open ? 'rotate-90' : ''}`} aria-hidden />
          {line}
        </button>
      ) : (
        <div className={`${rowStyle} pl-8`}>{line}</div>
      )}
      {open && (
        <div className="border-t border-line bg-code">
          <TerminalText text={outputTail ?? ''} atEnd className="max-h-56" label={`Output of ${printableLine(name)}`} />
          {artifactId !== undefined && (
            <p className="border-t border-line px-2.5 py-1 text-2xs">
              <Link
                {...to.session(sessionId, { panel: 'artifacts', artifact: artifactId })}
                className="text-accent underline underline-offset-2"
              >
                The whole log
              </Link>
            </p>
          )}
        </div>
      )}
    </li>
  )
}

/** Says how a check failed. One that exits with 0 has passed, whatever it wrote. */
function failureText({ exitCode, timedOut }: CheckResult): string {
  if (timedOut === true) return 'its time was over'
  return exitCode === null || exitCode === undefined ? 'it was stopped' : `exit code ${exitCode}`
}

function Took({ check: { state, startedAt, durationMs } }: { check: CheckResult }) {
  if (durationMs !== undefined) return formatDuration(durationMs)
  return state === 'running' && startedAt !== undefined ? <Running since={Date.parse(startedAt)} /> : null
}

function Running({ since }: { since: number }) {
  return formatDuration(Math.max(0, useSecond() - since))
}
