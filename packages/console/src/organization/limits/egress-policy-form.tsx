import type { OrganizationSettings } from '@berth/contract'
import { hostPattern } from '@berth/contract/egress'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { environmentsQuery } from '../../environments/queries.ts'
import { Field, inputClass } from '../../ui/field.tsx'
import { faultyForm, SettingsForm } from '../settings-form.tsx'
import { policyOf, policyText, readPolicy } from './egress-policy.ts'
import { saveOwn } from './queries.ts'

const area = `${inputClass} field-sizing-content max-h-60 resize-none font-mono text-[0.8125rem]`

/** Edits the hosts and secrets that environments of the organization may use. */
export function EgressPolicyForm({ policy }: { policy: OrganizationSettings['egress'] }) {
  const environments = useAllEnvironments()
  const [typed, setTyped] = useState<Partial<ReturnType<typeof policyText>>>({})
  const saved = policyText(policy, environments ?? [])
  const text = { ...saved, ...typed }
  const read = readPolicy(text, environments ?? [], new RegExp(hostPattern))
  const dirty = text.neverHosts !== saved.neverHosts || text.secrets !== saved.secrets
  const faulty = read.hostFault !== undefined || read.secretFault !== undefined
  const obstacle = environments === null ? 'The environments are being read.' : faulty ? faultyForm : null
  return (
    <SettingsForm
      label="Network of environments"
      action="setBudgets"
      dirty={dirty}
      obstacle={obstacle}
      send={() => saveOwn({ egress: policyOf(read) })}
      onSaved={() => setTyped({})}
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
    </SettingsForm>
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
