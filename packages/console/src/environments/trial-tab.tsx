import type { Environment } from '@berth/client'
import { formatDuration } from '@berth/client/transcript'
import { CircleCheck, CircleStop, CircleX, FlaskConical, LoaderCircle } from 'lucide-react'
import { TerminalText } from '../transcript/terminal-text.tsx'
import { Button } from '../ui/button.tsx'
import { printableLine } from '../ui/printable.ts'
import { EmptyState, InlineProblem } from '../ui/states.tsx'
import { applyReason } from './apply-reasons.ts'
import { useEnvironmentCan } from './environment-can.ts'
import { isUnderWay, startTrial, stopTrial, type Trial, useTrial } from './trials.ts'

/** Applies the newest revision in a throw-away sandbox, and shows its log while it happens. */
export function TrialTab({ environment, dirty }: { environment: Environment; dirty: boolean }) {
  const trial = useTrial(environment.id)
  const verdict = useEnvironmentCan(environment)('try')
  const start = (variant: 'primary' | 'plain') => (
    <Button variant={variant} verdict={verdict} onClick={() => startTrial(environment)}>
      <FlaskConical className="size-4" aria-hidden /> Try revision {environment.revision}
    </Button>
  )
  if (trial === null) {
    return (
      <EmptyState icon={FlaskConical} title="Try it before a Session does" action={start('primary')}>
        A trial sets up a sandbox of its own by the newest revision, with its secrets, and shows what happens. No agent
        starts, and nothing stays of it.
        {dirty && ' Your unsaved edits are not part of it.'}
      </EmptyState>
    )
  }
  return (
    <section aria-label="Trial" className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-3">
        <Outcome trial={trial} />
        <span className="ml-auto flex gap-2">
          {isUnderWay(trial) ? (
            <Button onClick={() => stopTrial(environment.id)}>
              <CircleStop className="size-4" aria-hidden /> Stop
            </Button>
          ) : (
            start('plain')
          )}
        </span>
      </div>
      <InlineProblem error={trial.error} />
      <Facts trial={trial} />
      {trial.output === '' && (trial.end?.outputTail ?? '') === '' ? (
        <p className="text-[0.8125rem] text-ink-3">
          {isUnderWay(trial) ? 'No output yet.' : 'The setup script wrote nothing.'}
        </p>
      ) : (
        <div className="rounded-md border border-line bg-code">
          <h2 className="border-b border-line px-2.5 py-1 text-2xs font-medium text-ink-3">Log</h2>
          <TerminalText text={trial.output === '' ? (trial.end?.outputTail ?? '') : trial.output} />
        </div>
      )}
    </section>
  )
}

function Outcome({ trial: { state, revision, end } }: { trial: Trial }) {
  const took = end?.durationMs === undefined ? '' : ` in ${formatDuration(end.durationMs)}`
  const [Icon, tone, label] = {
    starting: [LoaderCircle, 'text-accent', 'is waiting for its sandbox'],
    applying: [LoaderCircle, 'text-accent', 'is being applied'],
    succeeded: [CircleCheck, 'text-good', `works: it was applied${took}`],
    failed: [CircleX, 'text-bad', `failed${took}`],
    stopped: [CircleStop, 'text-ink-3', 'was stopped'],
  }[state] as [typeof CircleX, string, string]
  return (
    <p role="status" className="flex items-center gap-2 text-sm font-medium">
      <Icon className={`size-4.5 ${tone} ${Icon === LoaderCircle ? 'animate-spin' : ''}`} aria-hidden />
      Revision {revision} {label}
      {end?.setupExitCode !== undefined && end.setupExitCode !== 0 && ` with exit code ${end.setupExitCode}`}
    </p>
  )
}

/** The parts of the apply besides the script. */
function Facts({ trial: { end } }: { trial: Trial }) {
  if (end === null) return null
  const facts = [
    ...(end.errorCode === undefined ? [] : [applyReason(end.errorCode)]),
    ...(end.repositories ?? []).map(({ repository, path, state }) => `${repository} ${state} in ${path}`),
    ...(end.extensions ?? []).map(
      ({ ref, state, reason }) => `${ref} ${state}${reason === undefined ? '' : `, ${reason}`}`,
    ),
    ...(end.cache === undefined ? [] : [`Cache ${end.cache}`]),
  ]
  if (facts.length === 0) return null
  return (
    <ul className="flex flex-col gap-1 text-[0.8125rem] text-ink-2">
      {facts.map(fact => (
        <li key={fact}>{printableLine(fact)}</li>
      ))}
    </ul>
  )
}
