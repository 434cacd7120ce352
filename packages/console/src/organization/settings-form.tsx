import type { OrganizationSettings } from '@berth/contract'
import { type UseMutationResult, useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { queryClient } from '../api/queries.ts'
import type { Verdict } from '../session/session-can.ts'
import { Button } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { settingsQuery } from './limits/queries.ts'
import { type OrganizationAction, useOrganizationCan } from './organization-can.ts'

/** A form for some of the organization's settings, which saves them and shows them everywhere. */
export function SettingsForm(props: {
  label: string
  action: OrganizationAction
  dirty: boolean
  /** Why it cannot be saved as it stands; null if it can. */
  obstacle?: string | null
  send: () => Promise<OrganizationSettings>
  onSaved: () => void
  children: ReactNode
}) {
  const { label, action, dirty, obstacle = null, send, onSaved, children } = props
  const allowed = useOrganizationCan()(action)
  const reason = obstacle ?? (dirty ? null : 'Nothing has changed.')
  const verdict: Verdict = allowed.allowed && reason !== null ? { allowed: false, reason } : allowed
  const save: UseMutationResult<OrganizationSettings> = useMutation({
    mutationFn: send,
    onSuccess: saved => {
      queryClient.setQueryData(settingsQuery.queryKey, saved)
      onSaved()
    },
  })
  return (
    <form
      aria-label={label}
      className="flex flex-col gap-4 rounded-xl border border-line p-4"
      onSubmit={event => {
        event.preventDefault()
        if (verdict.allowed) save.mutate()
      }}
    >
      {children}
      <InlineProblem error={save.error} />
      <div className="flex items-center gap-3">
        <Button type="submit" variant="primary" busy={save.isPending} verdict={verdict} hint="above">
          Save
        </Button>
        <p role="status" className="text-xs text-ink-3">
          {save.isSuccess && !dirty ? 'Saved.' : ''}
        </p>
      </div>
    </form>
  )
}

/** The message of the form while a field has a fault. */
export const faultyForm = 'Correct what is marked first.'
