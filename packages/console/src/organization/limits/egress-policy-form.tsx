import type { OrganizationSettings } from '@berth/contract'
import { hostPattern } from '@berth/contract/egress'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { queryClient } from '../../api/queries.ts'
import { environmentsQuery } from '../../environments/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Field, inputClass } from '../../ui/field.tsx'
import { InlineProblem } from '../../ui/states.tsx'
import { useOrganizationCan } from '../organization-can.ts'
import { policyOf, policyText, readPolicy } from './egress-policy.ts'
import { saveOwn, settingsQuery } from './queries.ts'

const area = `${inputClass} field-sizing-content max-h-60 resize-none font-mono text-[0.8125rem]`

/** Edits what environments of the organization may reach and use. */
export function EgressPolicyForm({ policy }: { policy: OrganizationSettings['egress'] }) {
  const environments = useAllEnvironments()
  const [typed, setTyped] = useState<Partial<ReturnType<typeof policyText>>>({})
  const saved = policyText(policy, environments ?? [])
  const text = { ...saved, ...typed }
  const read = readPolicy(text, environments ?? [], new RegExp(hostPattern))
  const dirty = text.neverHosts !== saved.neverHosts || text.secrets !== saved.secrets
  const save = useMutation({
    mutationFn: () => saveOwn({ egress: policyOf(read) }),
    onSuccess: settings => {
      queryClient.setQueryData(settingsQuery.queryKey, settings)
      setTyped({})
    },
  })
  const allowed = useOrganizationCan()('setBudgets')
  const faulty = read.hostFault !== undefined || read.secretFault !== undefined
  const verdict = !allowed.allowed
    ? allowed
    : environments === null
      ? ({ allowed: false, reason: 'The environments are being read.' } as const)
      : faulty
        ? ({ allowed: false, reason: 'Correct what is marked first.' } as const)
        : !dirty
          ? ({ allowed: false, reason: 'Nothing has changed.' } as const)
          : allowed
  return (
    <form
      aria-label="Network of environments"
      className="flex flex-col gap-4 rounded-xl border border-line p-4"
      onSubmit={event => {
        event.preventDefault()
        if (verdict.allowed) save.mutate()
      }}
    >
      <Field
        label="Hosts that no environment names"
        fault={read.hostFault}
        hint="Names such as paste.example.org or *.example.org. Sandboxes that are made from now on do not reach them."
      >
        {attributes => (
          <textarea
            {...attributes}
            rows={1}
            spellCheck={false}
            value={text.neverHosts}
            placeholder="None"
            onChange={({ target }) => setTyped(before => ({ ...before, neverHosts: target.value }))}
            className={area}
          />
        )}
      </Field>
      <Field
        label="Secrets of some environments"
        fault={read.secretFault}
        hint="One a line: the name of a secret, a colon, and the environments that may use it, with commas. None after the colon: nobody may."
      >
        {attributes => (
          <textarea
            {...attributes}
            rows={1}
            spellCheck={false}
            value={text.secrets}
            placeholder="DEPLOY_KEY: release"
            onChange={({ target }) => setTyped(before => ({ ...before, secrets: target.value }))}
            className={area}
          />
        )}
      </Field>
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

/** Returns every live environment; null until all pages are read. */
function useAllEnvironments() {
  const pages = useInfiniteQuery(environmentsQuery(false))
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  if (pages.data === undefined || hasNextPage) return null
  return pages.data.pages.flatMap(page => page.environments)
}
