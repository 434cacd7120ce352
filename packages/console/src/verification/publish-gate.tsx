import type { Review, Session } from '@berth/client'
import { CircleAlert, LoaderCircle, ShieldCheck, ShieldX } from 'lucide-react'
import { useEffect, useState } from 'react'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { CheckRows } from './check-rows.tsx'
import { isOpen } from './outcome.ts'
import { countsText, outcomeText } from './outcome-text.ts'
import { useVerification } from './use-verification.ts'

/**
 * Holds a Publication back until the checks of exactly its revision have passed, if the environment or the person says so.
 * It waits only while the dialog is open: nothing is published behind anybody's back.
 */
export function usePublishGate(session: Session, review: Review, publish: () => void) {
  const verification = useVerification(session, review)
  const { outcome, required, hasChecks, begin } = verification
  const [chosen, choose] = useState<boolean | null>(null)
  const [waits, setWaits] = useState(false)
  const passed = outcome.kind === 'passed'
  // A Publication names the passed verification, unless a person leaves it out.
  const verified = required || (hasChecks && (chosen ?? passed))
  const isUnderWay = begin.isPending || (outcome.by !== null && isOpen(outcome.by))
  const isOver = waits && !isUnderWay
  useEffect(() => {
    if (!isOver) return
    setWaits(false)
    if (passed) publish()
  })
  return {
    ...verification,
    verified,
    waits,
    choose: (value: boolean) => {
      setWaits(false)
      choose(value)
    },
    /** Publishes at once if nothing stands against it, else once the checks have passed. */
    submit: () => {
      if (!verified || passed) return publish()
      if (isUnderWay) return setWaits(true)
      // A failure is not forgiven by its own result: its checks run anew.
      begin.mutate({ fresh: outcome.kind === 'failed' }, { onSuccess: () => setWaits(true) })
    },
  } as const
}

export type PublishGate = ReturnType<typeof usePublishGate>

/** Shows the outcome of the checks of the revision that is about to be published, and whether it waits for them. */
export function GateNote({ review, gate }: { review: Review; gate: PublishGate }) {
  const { outcome, environment, required, hasChecks, verified, waits, begin } = gate
  if (!required && !hasChecks) return null
  const { kind, by } = outcome
  const [tone, Icon] =
    kind === 'passed'
      ? ['text-good', ShieldCheck]
      : kind === 'failed'
        ? ['text-bad', ShieldX]
        : kind === 'open'
          ? ['text-accent', LoaderCircle]
          : ['text-warning', CircleAlert]
  return (
    <section aria-label="Verification" className="flex flex-col gap-2 rounded-md border border-line px-3 py-2.5">
      <div className="flex items-start gap-2 text-[0.8125rem]">
        <Icon
          className={`mt-0.5 size-4 shrink-0 ${tone} ${kind === 'open' ? 'motion-safe:animate-spin' : ''}`}
          aria-hidden
        />
        <p className="min-w-0 text-pretty">
          {printableLine(outcomeText(outcome, review, environment))}
          {by !== null && kind === 'open' && ` ${countsText(by)}.`}
        </p>
      </div>
      {by !== null && (kind === 'failed' || kind === 'open') && <CheckRows verification={by} />}
      {required ? (
        <p className="text-xs text-ink-2">
          The environment publishes only what its checks have passed.{' '}
          {kind !== 'passed' && !waits && 'They run first, and the changes are published once they have passed.'}
        </p>
      ) : (
        <label className="flex items-center gap-2 text-[0.8125rem]">
          <input
            type="checkbox"
            className="accent-accent"
            checked={verified}
            onChange={event => gate.choose(event.target.checked)}
          />
          Publish only if the checks have passed
        </label>
      )}
      {waits && (
        <p role="status" className="text-xs text-ink-2">
          It is published once the checks have passed, while this dialog is open.
        </p>
      )}
      <InlineProblem error={begin.error} />
    </section>
  )
}
