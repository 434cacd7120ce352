import type { Trigger } from '@berth/contract'
import type { ReactNode } from 'react'
import { Day } from '../../ui/dates.tsx'

/** Whether a trigger fires, and when it does so next. */
export function TriggerState({ trigger: { enabled, hook, nextAt } }: { trigger: Trigger }) {
  if (!enabled) return <StateText dot="bg-dot-quiet">Off</StateText>
  if (hook?.hasSecret === false) return <StateText dot="bg-bad">Has no secret yet</StateText>
  return (
    <StateText dot="bg-dot-good">
      On
      {nextAt !== undefined && (
        <span className="text-ink-3 max-sm:hidden">
          , next <Day at={nextAt} />
        </span>
      )}
    </StateText>
  )
}

function StateText({ dot, children }: { dot: string; children: ReactNode }) {
  return (
    <span className="flex items-center gap-2 text-ink-2">
      <span className={`dot ${dot}`} aria-hidden />
      <span>{children}</span>
    </span>
  )
}
